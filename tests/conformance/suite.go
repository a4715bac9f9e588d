// Kubernetes' own end-to-end tests of scheduling, devices and workloads, as a program: tests.conformance starts it.
package main

import (
	"encoding/json"
	"flag"
	"os"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/kubernetes/test/e2e/framework/testfiles"
	manifests "k8s.io/kubernetes/test/e2e/testing-manifests"

	_ "k8s.io/kubernetes/test/e2e/apps"
	_ "k8s.io/kubernetes/test/e2e/dra"
	_ "k8s.io/kubernetes/test/e2e/framework/debug/init"
	_ "k8s.io/kubernetes/test/e2e/framework/node/init"
	_ "k8s.io/kubernetes/test/e2e/scheduling"
)

var outcomes = flag.String("outcomes", os.DevNull, "the file that gets Ginkgo's report of each test, a line each")

// report appends what became of a test to the file, from where it can be read while others run.
func report(test ginkgo.SpecReport) {
	file, err := os.OpenFile(*outcomes, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	framework.ExpectNoError(err)
	defer file.Close()
	framework.ExpectNoError(json.NewEncoder(file).Encode(test))
}

type verdict struct{ failed bool }

func (v *verdict) Fail() { v.failed = true }

func main() {
	framework.RegisterCommonFlags(flag.CommandLine)
	framework.RegisterClusterFlags(flag.CommandLine)
	flag.Parse()
	testfiles.AddFileSource(manifests.GetE2ETestingManifestsFS())
	framework.AfterReadingAllFlags(&framework.TestContext)
	ginkgo.ReportAfterEach(report) // here, as it looks at all tests before, and forgets such nodes then
	gomega.RegisterFailHandler(framework.Fail)
	suite, reporter := framework.CreateGinkgoConfig()
	found := &verdict{}
	ginkgo.RunSpecs(found, "Kubernetes e2e suite", suite, reporter)
	if found.failed {
		os.Exit(1)
	}
}
