// Keeps a page as the cluster is: when the server says that something changed, the page is read again and what differs
// is put in place, so that focus, open details and the place on the page stay. Works without anything else.
"use strict";
(() => {
  const state = document.getElementById("live-state");
  const button = document.getElementById("live");
  const main = document.getElementById("main");
  const RETRY = 5000;
  const AGES = 30000;
  let paused = false;
  let stale = false;
  let reading = false;
  let last = Date.now();
  let source = null;
  let missing = 0;

  const tell = (text) => { if (state.textContent !== text) state.textContent = text; };
  const keyOf = (node) => node.nodeType === Node.ELEMENT_NODE ? node.id || node.dataset.key || "" : "";
  const isBlank = (node) => node.nodeType === Node.TEXT_NODE && !node.nodeValue.trim();

  function morph(old, fresh) {
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
      return;
    }
    for (const { name } of [...old.attributes]) {
      if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
    }
    for (const { name, value } of [...fresh.attributes]) {
      if (name !== "open" && old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    if (!old.hasAttribute("data-keep")) morphChildren(old, fresh);
  }

  function morphChildren(old, fresh) {
    const wanted = [...fresh.childNodes];
    const keys = new Set(wanted.map(keyOf).filter(Boolean));
    if (keys.size) {  // what goes, goes first: a node that is moved loses its focus
      for (const child of [...old.childNodes]) {
        const key = keyOf(child);
        if (key ? !keys.has(key) : isBlank(child)) child.remove();
      }
    }
    const keyed = new Map([...old.childNodes].filter(keyOf).map((child) => [keyOf(child), child]));
    const plain = [...old.childNodes].filter((child) => !keyOf(child));
    let at = old.firstChild;
    for (const each of wanted) {
      if (keys.size && isBlank(each)) continue;
      const found = keyOf(each) ? keyed.get(keyOf(each)) : plain[0];
      if (!found || found.nodeName !== each.nodeName) {
        old.insertBefore(document.adoptNode(each), at);
        continue;
      }
      if (keyOf(each)) keyed.delete(keyOf(each)); else plain.shift();
      if (found === at) at = at.nextSibling; else old.insertBefore(found, at);
      morph(found, each);
    }
    while (at) {
      const gone = at;
      at = at.nextSibling;
      gone.remove();
    }
  }

  function read() {
    if (paused || document.hidden || reading) { stale = true; return; }
    const wait = Number(main.dataset.every) * 1000 - (Date.now() - last);
    reading = true;
    stale = false;
    setTimeout(ask, Math.max(wait, 0));
  }

  // An XMLHttpRequest parses the page as a document by itself, without scripts, and from this site alone.
  function ask() {
    const request = new XMLHttpRequest();
    request.open("GET", location.href);
    request.responseType = "document";
    request.onloadend = () => {
      reading = false;
      last = Date.now();
      const fresh = request.response && request.response.getElementById("main");
      if (!fresh) { tell("Not connected"); return; }
      if (!paused) morph(main, fresh);
      if (stale) read();
    };
    request.send();
  }

  function follow() {
    if (source) source.close();
    source = new EventSource(`${main.dataset.stream}?at=${main.dataset.version}`);
    source.onopen = () => {
      clearTimeout(missing);
      missing = 0;
      tell(paused ? "Paused" : "Live");
    };
    source.addEventListener("changed", read);
    source.onerror = () => {  // streams end now and then, and the browser opens the next one
      missing = missing || setTimeout(() => tell("Not connected"), RETRY);
      if (source.readyState === EventSource.CLOSED) setTimeout(follow, RETRY);
    };
  }

  button.hidden = false;
  button.addEventListener("click", () => {
    paused = !paused;
    button.setAttribute("aria-pressed", String(paused));
    tell(paused ? "Paused" : "Live");
    if (!paused) read();
  });
  document.addEventListener("visibilitychange", () => { if (!document.hidden && stale) read(); });
  setInterval(read, AGES);
  follow();
})();
