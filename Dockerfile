# Muster's image, built by one command in the repository's root: docker build -t muster:0.1.0 .
FROM python:3.11-slim AS build
WORKDIR /source
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
COPY constraints.txt pyproject.toml setup.py README.md LICENSE ./
# The versions that are tested, also of what builds the wheel.
RUN pip install -c constraints.txt setuptools
COPY framework framework
COPY operator operator
COPY plugins plugins
COPY sandbox sandbox
COPY testing testing
RUN pip wheel --no-build-isolation --no-deps --wheel-dir /wheels .
RUN python -m venv --without-pip /opt/muster \
    && pip --python /opt/muster/bin/python install -c constraints.txt /wheels/*.whl

FROM python:3.11-slim
COPY --from=build /opt/muster /opt/muster
ENV PATH=/opt/muster/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
# `openssl` makes the serving certificate where none is given.
RUN muster --version && openssl version
USER 65532:65532
EXPOSE 10259
ENTRYPOINT ["muster"]
CMD ["run"]
