package airlock

import (
	"context"
	"sort"
	"time"
)

const fileInterval = time.Second

// FileEvent is a change of a file that a FileWatch found.
type FileEvent struct {
	// Kind is "added", "modified" or "deleted".
	Kind string
	Path string
	// File has the properties of the file. It is nil if the file was deleted.
	File *FileInfo
}

// FileWatch reports the changes of the files below a directory. The server does not report them, so it lists the files once
// per interval. Several changes of a file within an interval are one event. Use it from one goroutine.
type FileWatch struct {
	files    *Files
	ctx      context.Context
	path     string
	interval time.Duration
	known    map[string]FileInfo
	pending  []FileEvent
}

// Watch reports the changes of the files below a directory from now on. An interval of 0 is one second. The watch ends with
// the context.
func (f *Files) Watch(ctx context.Context, path string, interval time.Duration) (*FileWatch, error) {
	if interval <= 0 {
		interval = fileInterval
	}
	made := &FileWatch{files: f, ctx: ctx, path: path, interval: interval}
	var err error
	made.known, err = made.snapshot()
	return made, err
}

// Next returns the next change. It waits until there is one.
func (w *FileWatch) Next() (FileEvent, error) {
	for len(w.pending) == 0 {
		if err := sleep(w.ctx, w.interval); err != nil {
			return FileEvent{}, err
		}
		now, err := w.snapshot()
		if err != nil {
			return FileEvent{}, err
		}
		w.pending, w.known = changesBetween(w.known, now), now
	}
	event := w.pending[0]
	w.pending = w.pending[1:]
	return event, nil
}

// changesBetween returns the changes, ordered by path.
func changesBetween(before, after map[string]FileInfo) []FileEvent {
	var changes []FileEvent
	for path, file := range after {
		file := file
		if known, ok := before[path]; !ok {
			changes = append(changes, FileEvent{"added", path, &file})
		} else if known != file {
			changes = append(changes, FileEvent{"modified", path, &file})
		}
	}
	for path := range before {
		if _, ok := after[path]; !ok {
			changes = append(changes, FileEvent{"deleted", path, nil})
		}
	}
	sort.Slice(changes, func(i, j int) bool { return changes[i].Path < changes[j].Path })
	return changes
}

func (w *FileWatch) snapshot() (map[string]FileInfo, error) {
	all, err := w.files.Walk(w.ctx, w.path, Filter{})
	files := map[string]FileInfo{}
	for _, file := range all {
		// The time of a directory changes with its entries, which are reported themselves.
		if file.Type != "directory" {
			files[file.Path] = file
		}
	}
	return files, err
}
