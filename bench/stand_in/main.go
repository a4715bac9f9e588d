// A stand-in for an API server that costs a scheduler nothing but its own time: it keeps objects in memory, answers
// every request at once, and streams what Bindings change to all watches of pods. bench.loop builds and starts it.
//
// It is no API server: it checks nothing, serves only what a scheduler asks for while it drains a backlog, and knows no
// selectors. Kinds that it was not given are empty lists. It speaks plain HTTP on the loopback address.
//
//	stand-in ADDRESS OBJECTS
//
// OBJECTS is a file with one JSON object: by the path of a list, its items. Standard output gets a line of JSON at the
// first Binding, and one when all pods are bound and as many Events are written, which says how long both took.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const pods = "/api/v1/pods"

// discovery has what a client asks for that looks for kinds before it uses them.
var discovery = map[string]string{
	"/api":    `{"kind":"APIVersions","versions":["v1"]}`,
	"/apis":   `{"kind":"APIGroupList","groups":[]}`,
	"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[]}`,
}

type object = map[string]any

type server struct {
	mutex    sync.Mutex
	lists    map[string][]object
	byKey    map[string]object
	version  int
	watches  map[chan []byte]bool
	leases   map[string]object
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
	s := &server{version: 1, byKey: map[string]object{}, watches: map[chan []byte]bool{}, leases: map[string]object{}}
	if err := json.Unmarshal(text, &s.lists); err != nil {
		log.Fatalf("%s: %v", os.Args[2], err)
	}
	for path, items := range s.lists {
		for number, item := range items {
			metadata := item["metadata"].(object)
			metadata["uid"] = fmt.Sprintf("%08d-%d", number, len(path))
			metadata["resourceVersion"] = "1"
			metadata["creationTimestamp"] = "2026-01-01T00:00:00Z"
		}
	}
	for _, pod := range s.lists[pods] {
		metadata := pod["metadata"].(object)
		s.byKey[fmt.Sprintf("%s/%s", metadata["namespace"], metadata["name"])] = pod
	}
	log.Fatal(http.ListenAndServe(os.Args[1], s))
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

func (s *server) list(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	items := s.lists[r.URL.Path]
	if items == nil {
		items = []object{}
	}
	json.NewEncoder(w).Encode(object{
		"kind": "List", "apiVersion": "v1", "metadata": object{"resourceVersion": strconv.Itoa(s.version)}, "items": items,
	})
}

// watch streams changes of pods; nothing else ever changes. A bookmark a minute keeps the others alive.
func (s *server) watch(w http.ResponseWriter, r *http.Request) {
	lines := make(chan []byte, 1<<16)
	if r.URL.Path == pods {
		s.mutex.Lock()
		s.watches[lines] = true
		s.mutex.Unlock()
		defer func() {
			s.mutex.Lock()
			delete(s.watches, lines)
			s.mutex.Unlock()
		}()
	}
	flusher := w.(http.Flusher)
	flusher.Flush()
	for {
		select {
		case line := <-lines:
			w.Write(line)
			for more := len(lines); more > 0; more-- {
				w.Write(<-lines)
			}
		case <-time.After(time.Minute):
			s.mutex.Lock()
			fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"%d"}}}`+"\n", s.version)
			s.mutex.Unlock()
		case <-r.Context().Done():
			return
		}
		flusher.Flush()
	}
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
	pod, found := s.byKey[binding.Metadata.Namespace+"/"+binding.Metadata.Name]
	spec, _ := pod["spec"].(object)
	if !found || spec["nodeName"] != nil {
		s.mutex.Unlock()
		w.WriteHeader(http.StatusConflict)
		io.WriteString(w, `{"kind":"Status","reason":"Conflict","message":"no such pod, or it is bound","code":409}`)
		return
	}
	s.version++
	spec["nodeName"] = binding.Target.Name
	pod["metadata"].(object)["resourceVersion"] = strconv.Itoa(s.version)
	line, _ := json.Marshal(object{"type": "MODIFIED", "object": pod})
	line = append(line, '\n')
	for watch := range s.watches {
		watch <- line
	}
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

func (s *server) event(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.WriteHeader(http.StatusCreated)
	w.Write(body)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.events++
	if all := len(s.lists[pods]); s.events >= all && s.bound == all && !s.reported {
		s.reported = true
		json.NewEncoder(os.Stdout).Encode(object{
			"bound": all, "bound_seconds": s.last.Sub(s.first).Seconds(), "written_seconds": time.Since(s.first).Seconds(),
		})
	}
}
