// Answers of scheduler-plugins' NodeResourceTopologyMatch about situations, a line of JSON each: the verdict and the
// score of every node, what its cache says is available after some steps, and fingerprints of pods.
//
// tests.noderesourcetopology.record builds and runs it. The plugin reads its objects from an API server, which this
// program plays; everything else is the plugin's own code.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	topology "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	"github.com/k8stopologyawareschedwg/podfingerprint"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	podlisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/scheduler-plugins/apis/config"
	configv1 "sigs.k8s.io/scheduler-plugins/apis/config/v1"
	plugin "sigs.k8s.io/scheduler-plugins/pkg/noderesourcetopology"
	"sigs.k8s.io/scheduler-plugins/pkg/noderesourcetopology/cache"
	"sigs.k8s.io/scheduler-plugins/pkg/noderesourcetopology/podprovider"
)

type situation struct {
	Strategy   *configv1.ScoringStrategy
	Nodes      []*v1.Node
	Topologies []topology.NodeResourceTopology
	Pod        *v1.Pod
	Names      [][2]string
	Steps      []step
}

type step struct {
	Do       string
	Node     string
	Pod      *v1.Pod
	Pods     []*v1.Pod
	Topology *topology.NodeResourceTopology
}

type answer struct {
	Rejected    map[string]string                       `json:"rejected,omitempty"`
	Scores      map[string]int64                        `json:"scores,omitempty"`
	Fingerprint string                                  `json:"fingerprint,omitempty"`
	Available   []map[string]map[string]map[string]string `json:"available,omitempty"`
}

// server plays the API server: discovery, and the objects of one kind.
type server struct {
	sync.Mutex
	objects map[string]topology.NodeResourceTopology
}

const list = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies"

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	defer s.Unlock()
	w.Header().Set("Content-Type", "application/json")
	kind := metav1.APIResource{Name: "noderesourcetopologies", Kind: "NodeResourceTopology", Verbs: []string{"get", "list"}}
	version := metav1.GroupVersionForDiscovery{GroupVersion: "topology.node.k8s.io/v1alpha2", Version: "v1alpha2"}
	group := metav1.APIGroup{Name: "topology.node.k8s.io", Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version}
	var body any
	switch {
	case r.URL.Path == "/api":
		body = metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}}
	case r.URL.Path == "/apis":
		body = metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{group}}
	case r.URL.Path == "/apis/topology.node.k8s.io":
		body = group
	case r.URL.Path == "/apis/topology.node.k8s.io/v1alpha2":
		body = metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version.GroupVersion, APIResources: []metav1.APIResource{kind}}
	case r.URL.Path == list:
		all := topology.NodeResourceTopologyList{TypeMeta: metav1.TypeMeta{Kind: "NodeResourceTopologyList", APIVersion: version.GroupVersion}}
		for _, each := range s.objects {
			all.Items = append(all.Items, each)
		}
		body = all
	case strings.HasPrefix(r.URL.Path, list+"/"):
		found, ok := s.objects[strings.TrimPrefix(r.URL.Path, list+"/")]
		if ok {
			body = found
		}
	}
	if body == nil {
		w.WriteHeader(http.StatusNotFound)
		body = metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: metav1.StatusReasonNotFound, Code: 404}
	}
	must(json.NewEncoder(w).Encode(body))
}

func (s *server) keep(objects ...topology.NodeResourceTopology) {
	s.Lock()
	defer s.Unlock()
	for _, each := range objects {
		each.TypeMeta = metav1.TypeMeta{Kind: "NodeResourceTopology", APIVersion: "topology.node.k8s.io/v1alpha2"}
		s.objects[each.Name] = each
	}
}

func (s *server) clear() {
	s.Lock()
	defer s.Unlock()
	s.objects = map[string]topology.NodeResourceTopology{}
}

// handle is the part of the framework that the plugin asks without a cache.
type handle struct {
	framework.Handle
	kubeConfig *rest.Config
}

func (h handle) KubeConfig() *rest.Config { return h.kubeConfig }

// pods is a lister of the pods that run.
type pods struct {
	podlisters.PodLister
	all []*v1.Pod
}

func (p *pods) List(labels.Selector) ([]*v1.Pod, error) { return p.all, nil }

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func decide(ctx context.Context, kubeConfig *rest.Config, s situation) answer {
	given := &configv1.NodeResourceTopologyMatchArgs{ScoringStrategy: s.Strategy}
	configv1.SetDefaults_NodeResourceTopologyMatchArgs(given)
	args := &config.NodeResourceTopologyMatchArgs{}
	must(configv1.Convert_v1_NodeResourceTopologyMatchArgs_To_config_NodeResourceTopologyMatchArgs(given, args, nil))
	made, err := plugin.New(ctx, args, handle{kubeConfig: kubeConfig})
	must(err)
	match := made.(*plugin.TopologyMatch)
	found := answer{Rejected: map[string]string{}, Scores: map[string]int64{}}
	for _, node := range s.Nodes {
		info := framework.NewNodeInfo()
		info.SetNode(node)
		if status := match.Filter(ctx, nil, s.Pod, info); !status.IsSuccess() {
			found.Rejected[node.Name] = status.Code().String() + ": " + status.Message()
		}
		score, status := match.Score(ctx, nil, s.Pod, info)
		if !status.IsSuccess() {
			log.Fatal(status.Message())
		}
		found.Scores[node.Name] = score
	}
	return found
}

func follow(ctx context.Context, kubeConfig *rest.Config, played *server, s situation) answer {
	scheme := runtime.NewScheme()
	must(topology.AddToScheme(scheme))
	client, err := ctrlclient.NewWithWatch(kubeConfig, ctrlclient.Options{Scheme: scheme})
	must(err)
	scope, running := config.CacheResyncScopeOnlyResources, &pods{}
	settings := &config.NodeResourceTopologyCache{ResyncScope: &scope}
	kept, err := cache.NewOverReserve(ctx, logr.Discard(), settings, client, running, podprovider.IsPodRelevantAlways)
	must(err)
	found := answer{}
	for _, each := range s.Steps {
		switch each.Do {
		case "reserve":
			kept.ReserveNodeResources(each.Node, each.Pod)
		case "unreserve":
			kept.UnreserveNodeResources(each.Node, each.Pod)
		case "report":
			played.keep(*each.Topology)
		case "resync":
			running.all = each.Pods
			kept.NodeMaybeOverReserved(each.Node, &v1.Pod{})
			kept.Resync()
		}
		now := map[string]map[string]map[string]string{}
		for _, object := range s.Topologies {
			copied, _ := kept.GetCachedNRTCopy(ctx, object.Name, &v1.Pod{})
			now[object.Name] = map[string]map[string]string{}
			for _, zone := range copied.Zones {
				amounts := map[string]string{}
				for _, resource := range zone.Resources {
					amounts[resource.Name] = resource.Available.String()
				}
				now[object.Name][zone.Name] = amounts
			}
		}
		found.Available = append(found.Available, now)
	}
	return found
}

func main() {
	klog.SetLogger(logr.Discard())
	played := &server{}
	http := httptest.NewServer(played)
	defer http.Close()
	kubeConfig := &rest.Config{Host: http.URL, QPS: -1}
	ctx := klog.NewContext(context.Background(), logr.Discard())
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		s := situation{}
		must(json.Unmarshal(line, &s))
		played.clear()
		played.keep(s.Topologies...)
		switch {
		case s.Names != nil:
			signed := podfingerprint.NewFingerprint(len(s.Names))
			for _, name := range s.Names {
				must(signed.Add(name[0], name[1]))
			}
			must(out.Encode(answer{Fingerprint: signed.Sign()}))
		case s.Steps != nil:
			must(out.Encode(follow(ctx, kubeConfig, played, s)))
		default:
			must(out.Encode(decide(ctx, kubeConfig, s)))
		}
	}
}
