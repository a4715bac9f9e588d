// A stand-in for an API server that costs a scheduler nothing but its own time: it keeps objects in memory, answers
// every request at once, and streams what Bindings and written statuses change to all watches of the kind. bench.stand_in
// builds and starts it.
//
// It is no API server: it checks nothing, serves only what a scheduler asks for while it drains a backlog, and knows no
// selectors but the one of pods that have ended, of which there are none. Kinds that it was not given are empty lists.
// Lists come in pages, as a client limits them. It speaks plain HTTP on the loopback address.
//
//	stand-in ADDRESS OBJECTS
//
// OBJECTS is a file of lines: the path of a list, then its items, an object of JSON on each line, then the next path.
// An object is kept as it stands there and is never encoded again unless a Binding changes it, so half a million pods
// take little more than their file. Standard output gets a line of JSON when all objects are served, one at the first
// Binding, and one when all pods are bound and as many Events are written, which says how long both took.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

const pods, nodes = "/api/v1/pods", "/api/v1/nodes"

// discovery has what a client asks for that looks for kinds before it uses them.
var discovery = map[string]string{
	"/api":    `{"kind":"APIVersions","versions":["v1"]}`,
	"/apis":   `{"kind":"APIGroupList","groups":[]}`,
	"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[]}`,
}

type object = map[string]any

// change is a line of a watch, and the version that it brought.
type change struct {
	version int
	line    []byte
}

type server struct {
	mutex    sync.Mutex
	lists    map[string][][]byte
	places   map[string]int // by path, the places in their list of objects that are not of the core group
	pending  map[string]int // by namespace and name, the places in the list of the pods that have no node
	version  int
	changes  map[string][]change // by the path of the list
	changed  chan struct{}       // closed at the next change
	leases   map[string]object
	backlog  int
	bound    int
	events   int
	first    time.Time
	last     time.Time
	reported bool
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: stand-in ADDRESS OBJECTS")
	}
	text, err := os.ReadFile(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	s := &server{version: 1, changes: map[string][]change{}, changed: make(chan struct{}), leases: map[string]object{}}
	s.load(text)
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	json.NewEncoder(os.Stdout).Encode(object{"backlog": s.backlog})
	log.Fatal(http.Serve(listener, s))
}

// load takes the objects from the text of a file, which must not change any more.
func (s *server) load(text []byte) {
	s.lists, s.places, s.pending = map[string][][]byte{}, map[string]int{}, map[string]int{}
	path := ""
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		if line[0] == '/' {
			path = string(line)
			continue
		}
		if strings.HasPrefix(path, "/apis/") {
			s.places[objectPath(path, line)] = len(s.lists[path])
		}
		s.lists[path] = append(s.lists[path], line)
	}
	for place, item := range s.lists[pods] {
		var pod struct {
			Metadata struct{ Namespace, Name string }
			Spec     struct{ NodeName string }
		}
		if err := json.Unmarshal(item, &pod); err != nil {
			log.Fatalf("%s: %v", item, err)
		}
		if pod.Spec.NodeName == "" {
			s.pending[pod.Metadata.Namespace+"/"+pod.Metadata.Name] = place
		}
	}
	s.backlog = len(s.pending)
}

// objectPath is the path of an object in a list of objects that have namespaces.
func objectPath(list string, item []byte) string {
	var found struct {
		Metadata struct{ Namespace, Name string }
	}
	if err := json.Unmarshal(item, &found); err != nil {
		log.Fatalf("%s: %v", item, err)
	}
	at := strings.LastIndex(list, "/")
	return list[:at] + "/namespaces/" + found.Metadata.Namespace + list[at:] + "/" + found.Metadata.Name
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.Contains(r.URL.Path, "/leases"):
		s.lease(w, r)
	case r.Method == http.MethodGet && r.URL.Query().Get("watch") == "true":
		s.watch(w, r)
	case r.Method == http.MethodGet && discovery[r.URL.Path] != "":
		io.WriteString(w, discovery[r.URL.Path])
	case r.Method == http.MethodGet:
		s.list(w, r)
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/binding"):
		s.bind(w, r)
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/events"):
		s.event(w, r)
	case r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/status"):
		s.patch(w, r)
	default:
		http.Error(w, `{"kind":"Status","code":405}`, http.StatusMethodNotAllowed)
	}
}

// lease keeps leases as they are written, for leader election.
func (s *server) lease(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	if r.Method != http.MethodGet {
		var lease object
		if err := json.NewDecoder(r.Body).Decode(&lease); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.version++
		metadata := lease["metadata"].(object)
		metadata["resourceVersion"] = strconv.Itoa(s.version)
		name = metadata["name"].(string)
		s.leases[name] = lease
	}
	lease, found := s.leases[name]
	if !found {
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"kind":"Status","reason":"NotFound","code":404}`)
		return
	}
	if r.Method == http.MethodPost {
		w.WriteHeader(http.StatusCreated)
	}
	json.NewEncoder(w).Encode(lease)
}

// selected is the path of what is asked for: that of no list for pods that have ended.
func selected(r *http.Request) string {
	if strings.Contains(r.URL.Query().Get("fieldSelector"), "status.phase!=Running") {
		return ""
	}
	return r.URL.Path
}

// list answers with as many items as the client wants, and with where the next page begins. All pages name the version
// of the first: a watch from there repeats what was bound between them.
func (s *server) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	s.mutex.Lock()
	items, version, first := s.lists[selected(r)], s.version, 0
	if token := query.Get("continue"); token != "" {
		if _, err := fmt.Sscanf(token, "%d.%d", &version, &first); err != nil || first > len(items) {
			s.mutex.Unlock()
			http.Error(w, `{"kind":"Status","reason":"BadRequest","code":400}`, http.StatusBadRequest)
			return
		}
	}
	next, token := len(items), ""
	if limit, _ := strconv.Atoi(query.Get("limit")); limit > 0 && first+limit < next {
		next = first + limit
		token = fmt.Sprintf("%d.%d", version, next)
	}
	page := bytes.Join(items[first:next], []byte(","))
	s.mutex.Unlock()
	metadata := `{"resourceVersion":"%d","continue":"%s"}`
	fmt.Fprintf(w, `{"kind":"List","apiVersion":"v1","metadata":`+metadata+`,"items":[`, version, token)
	w.Write(page)
	io.WriteString(w, "]}")
}

// watch streams the changes of a list since a version. A bookmark a minute keeps those alive that never change.
func (s *server) watch(w http.ResponseWriter, r *http.Request) {
	since, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	flusher := w.(http.Flusher)
	for {
		changes, changed, version := s.news(selected(r), since)
		for _, each := range changes {
			w.Write(each.line)
		}
		flusher.Flush()
		since = version
		select {
		case <-changed:
		case <-time.After(time.Minute):
			fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"%d"}}}`+"\n", version)
		case <-r.Context().Done():
			return
		}
	}
}

// news is what of a list has changed since a version, what is closed at the next change, and the version now. What
// never changes waits for nothing.
func (s *server) news(list string, since int) ([]change, chan struct{}, int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.lists[list]) == 0 || list == nodes {
		return nil, nil, s.version
	}
	changes := s.changes[list]
	next := sort.Search(len(changes), func(at int) bool { return changes[at].version > since })
	return changes[next:], s.changed, s.version
}

// put keeps a new state of an object in its list, and streams it.
func (s *server) put(list string, place int, item []byte) {
	s.lists[list][place] = item
	s.changes[list] = append(s.changes[list], change{s.version, fmt.Appendf(nil, `{"type":"MODIFIED","object":%s}`+"\n", item)})
	close(s.changed)
	s.changed = make(chan struct{})
}

// patch merges into the status of an object.
func (s *server) patch(w http.ResponseWriter, r *http.Request) {
	var body struct{ Status object }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	path := strings.TrimSuffix(r.URL.Path, "/status")
	s.mutex.Lock()
	defer s.mutex.Unlock()
	place, found := s.places[path]
	if !found {
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"kind":"Status","reason":"NotFound","code":404}`)
		return
	}
	parts := strings.Split(path, "/")
	list := strings.Join(append(parts[:4:4], parts[6]), "/")
	var item object
	json.Unmarshal(s.lists[list][place], &item)
	s.version++
	item["metadata"].(object)["resourceVersion"] = strconv.Itoa(s.version)
	status, _ := item["status"].(object)
	item["status"] = merged(status, body.Status)
	line, _ := json.Marshal(item)
	s.put(list, place, line)
	w.Write(line)
}

// merged is what a merge patch makes of an object.
func merged(old, patch object) object {
	made := object{}
	for key, value := range old {
		made[key] = value
	}
	for key, value := range patch {
		if inner, is := value.(object); is {
			before, _ := made[key].(object)
			made[key] = merged(before, inner)
		} else if value == nil {
			delete(made, key)
		} else {
			made[key] = value
		}
	}
	return made
}

func (s *server) bind(w http.ResponseWriter, r *http.Request) {
	var binding struct {
		Metadata struct{ Namespace, Name string }
		Target   struct{ Name string }
	}
	if err := json.NewDecoder(r.Body).Decode(&binding); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mutex.Lock()
	key := binding.Metadata.Namespace + "/" + binding.Metadata.Name
	place, found := s.pending[key]
	if !found {
		s.mutex.Unlock()
		w.WriteHeader(http.StatusConflict)
		io.WriteString(w, `{"kind":"Status","reason":"Conflict","message":"no such pod, or it is bound","code":409}`)
		return
	}
	delete(s.pending, key)
	s.version++
	s.put(pods, place, boundTo(s.lists[pods][place], binding.Target.Name, s.version))
	s.last = time.Now()
	if s.bound == 0 {
		s.first = s.last
		json.NewEncoder(os.Stdout).Encode(object{"bound": 1})
	}
	s.bound++
	s.mutex.Unlock()
	w.WriteHeader(http.StatusCreated)
	io.WriteString(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}`)
}

// boundTo is a pod as it is once it has a node.
func boundTo(item []byte, node string, version int) []byte {
	var pod object
	json.Unmarshal(item, &pod)
	pod["metadata"].(object)["resourceVersion"] = strconv.Itoa(version)
	pod["spec"].(object)["nodeName"] = node
	bound, _ := json.Marshal(pod)
	return bound
}

func (s *server) event(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.WriteHeader(http.StatusCreated)
	w.Write(body)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.events++
	if s.events >= s.backlog && s.bound == s.backlog && !s.reported {
		s.reported = true
		json.NewEncoder(os.Stdout).Encode(object{
			"bound": s.bound, "bound_seconds": s.last.Sub(s.first).Seconds(), "written_seconds": time.Since(s.first).Seconds(),
		})
	}
}
