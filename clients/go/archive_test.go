package airlock

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"syscall"
	"testing"
)

// entry is an entry of an archive: the name, the type, and the content or link target.
type entry struct {
	name    string
	kind    byte
	content string
}

func archiveOf(t *testing.T, all ...entry) *bytes.Reader {
	t.Helper()
	var made bytes.Buffer
	writer := tar.NewWriter(&made)
	for _, one := range all {
		header := &tar.Header{Name: one.name, Typeflag: one.kind, Mode: 0o640}
		switch one.kind {
		case tar.TypeReg:
			header.Size = int64(len(one.content))
		case tar.TypeDir:
			header.Mode = 0o755
		default:
			header.Linkname = one.content
		}
		if err := writer.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if one.kind == tar.TypeReg {
			if _, err := io.WriteString(writer, one.content); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(made.Bytes())
}

// tree returns the paths below a directory.
func tree(t *testing.T, root string) []string {
	t.Helper()
	paths := []string{}
	err := filepath.Walk(root, func(path string, _ os.FileInfo, err error) error {
		if path != root {
			paths = append(paths, strings.TrimPrefix(path, root+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(paths)
	return paths
}

func modeOf(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func TestADirectoryComesBackAsItWas(t *testing.T) {
	directory, ctx := t.TempDir(), context.Background()
	source, out := filepath.Join(directory, "source"), filepath.Join(directory, "out")
	put(t, filepath.Join(source, "a"), "a")
	put(t, filepath.Join(source, "sub/run"), "b")
	put(t, filepath.Join(source, "skip.log"), "no")
	for _, err := range []error{
		os.Chmod(filepath.Join(source, "a"), 0o640), os.Chmod(filepath.Join(source, "sub/run"), 0o755),
		os.Symlink("sub/run", filepath.Join(source, "link")), syscall.Mkfifo(filepath.Join(source, "pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var made bytes.Buffer
	skipped, err := pack(ctx, source, &made, []string{"*.log"})
	if err != nil || !reflect.DeepEqual(skipped, []string{"pipe: not a file, directory or link"}) {
		t.Fatal(skipped, err)
	}
	counts, err := unpack(ctx, bytes.NewReader(made.Bytes()), out, 0o755)
	if err != nil || counts.Files != 2 || counts.Directories != 1 || counts.Links != 1 {
		t.Fatal(counts, err)
	}
	if paths := tree(t, out); !reflect.DeepEqual(paths, []string{"a", "link", "sub", "sub/run"}) {
		t.Fatal(paths)
	}
	link, err := os.Readlink(filepath.Join(out, "link"))
	if err != nil || link != "sub/run" {
		t.Fatal(link, err)
	}
	if modeOf(t, filepath.Join(out, "a")) != 0o640 || modeOf(t, filepath.Join(out, "sub/run")) != 0o755 {
		t.Fatal(modeOf(t, filepath.Join(out, "a")), modeOf(t, filepath.Join(out, "sub/run")))
	}
}

func TestHostileArchivesAreRefusedAndNothingIsWritten(t *testing.T) {
	for _, hostile := range []entry{
		{"../outside", tar.TypeReg, "x"},
		{"/outside", tar.TypeReg, "x"},
		{"a/../../outside", tar.TypeReg, "x"},
		{"link", tar.TypeSymlink, "../outside"},
		{"link", tar.TypeSymlink, "/outside"},
		{"a/link", tar.TypeSymlink, "b/../../../outside"},
		{"hard", tar.TypeLink, "../outside"},
		{"hard", tar.TypeLink, "not-there"},
		{"device", tar.TypeChar, ""},
		{"pipe", tar.TypeFifo, ""},
	} {
		directory := t.TempDir()
		put(t, filepath.Join(directory, "outside"), "mine")
		archive := archiveOf(t, entry{"good", tar.TypeReg, "x"}, hostile)
		_, err := unpack(context.Background(), archive, filepath.Join(directory, "out"), 0o755)
		if !errors.Is(err, KindArchive) || !errors.Is(err, KindLocal) {
			t.Error(hostile, err)
		}
		if paths := tree(t, directory); !reflect.DeepEqual(paths, []string{"outside"}) {
			t.Error(hostile, paths)
		}
	}
}

// The control: an extraction that trusts the names would write outside of the directory.
func TestTheControlATrustingExtractionWritesOutside(t *testing.T) {
	directory := t.TempDir()
	reader := tar.NewReader(archiveOf(t, entry{"../outside", tar.TypeReg, "x"}))
	header, err := reader.Next()
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(directory, "out", header.Name), string(content))
	if paths := tree(t, directory); !reflect.DeepEqual(paths, []string{"outside"}) {
		t.Error(paths)
	}
}

func TestALinkInTheArchiveIsNotFollowed(t *testing.T) {
	directory := t.TempDir()
	archive := archiveOf(t, entry{"in", tar.TypeDir, ""}, entry{"to", tar.TypeSymlink, "in"}, entry{"to/f", tar.TypeReg, "x"})
	_, err := unpack(context.Background(), archive, filepath.Join(directory, "out"), 0o755)
	if !errors.Is(err, KindLocal) {
		t.Error(err)
	}
	if paths := tree(t, directory); len(paths) != 0 {
		t.Error(paths)
	}
}

func TestALocalLinkIsNotFollowed(t *testing.T) {
	directory := t.TempDir()
	put(t, filepath.Join(directory, "elsewhere/mine"), "")
	put(t, filepath.Join(directory, "out/mine"), "")
	if err := os.Symlink("../elsewhere", filepath.Join(directory, "out/sub")); err != nil {
		t.Fatal(err)
	}
	archive := archiveOf(t, entry{"sub/file", tar.TypeReg, "x"})
	_, err := unpack(context.Background(), archive, filepath.Join(directory, "out"), 0o755)
	if !errors.Is(err, KindArchive) || !strings.Contains(err.Error(), "in the way") {
		t.Error(err)
	}
	if paths := tree(t, filepath.Join(directory, "elsewhere")); !reflect.DeepEqual(paths, []string{"mine"}) {
		t.Error(paths)
	}
}

func TestExistingFilesAreReplacedAndOthersStay(t *testing.T) {
	directory := t.TempDir()
	put(t, filepath.Join(directory, "a"), "old")
	put(t, filepath.Join(directory, "b"), "stays")
	archive := archiveOf(t, entry{"a", tar.TypeReg, "new"}, entry{"a2", tar.TypeLink, "a"})
	counts, err := unpack(context.Background(), archive, directory, 0o755)
	if err != nil || counts.Files != 1 || counts.Links != 1 {
		t.Fatal(counts, err)
	}
	for name, expected := range map[string]string{"a": "new", "a2": "new", "b": "stays"} {
		if content, err := os.ReadFile(filepath.Join(directory, name)); err != nil || string(content) != expected {
			t.Error(name, string(content), err)
		}
	}
}

func TestAFileThatIsNoArchiveIsAnError(t *testing.T) {
	directory := t.TempDir()
	_, err := unpack(context.Background(), strings.NewReader(strings.Repeat("x", 2000)), directory+"/out", 0o755)
	if !errors.Is(err, KindArchive) || !strings.Contains(err.Error(), "invalid") {
		t.Error(err)
	}
	if _, err := pack(context.Background(), directory+"/none", io.Discard, nil); !errors.Is(err, KindLocal) {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	put(t, directory+"/file", "x")
	if _, err := pack(ended, directory, io.Discard, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestGlobsExcludeRelativePaths(t *testing.T) {
	names := []string{"a.log", "sub/b.log", "sub/c.txt"}
	for glob, gone := range map[string]string{
		"*.log": "a.log", "**/*.log": "a.log sub/b.log", "sub": "", "sub/?.txt": "sub/c.txt", "[ab].log": "a.log",
		"[!b].log": "a.log", "**.log": "a.log sub/b.log", "a+log": "", "[": "",
	} {
		pattern, err := globOf(glob)
		if err != nil {
			t.Fatal(glob, err)
		}
		found := []string{}
		for _, name := range names {
			if pattern.MatchString(name) {
				found = append(found, name)
			}
		}
		if strings.Join(found, " ") != gone {
			t.Error(glob, found)
		}
	}
	if _, err := globOf("[z-a]"); !errors.Is(err, KindSettings) {
		t.Error(err)
	}
}
