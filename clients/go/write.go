package airlock

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// writing writes the entries of a checked archive below a directory, and opens each directory without following links.
type writing struct {
	root  int
	mask  os.FileMode
	made  Transferred
	modes []directoryMode
}

type directoryMode struct {
	parts []string
	mode  os.FileMode
}

func write(ctx context.Context, archive io.ReadSeeker, into string) (Transferred, error) {
	root, err := unix.Open(into, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return Transferred{}, err
	}
	defer unix.Close(root)
	w := &writing{root: root, mask: umask()}
	err = entries(ctx, archive, func(entry *tar.Header, parts []string, content io.Reader) error {
		return w.within(parts[:len(parts)-1], func(parent int) error {
			return w.add(ctx, entry, parts, parent, content)
		})
	})
	// A directory gets its permissions last, because they may forbid to write to it.
	for i := len(w.modes) - 1; i >= 0 && err == nil; i-- {
		one := w.modes[i]
		err = w.within(one.parts, func(directory int) error { return unix.Fchmod(directory, uint32(one.mode)) })
	}
	return w.made, err
}

func (w *writing) add(
	ctx context.Context, entry *tar.Header, parts []string, parent int, content io.Reader,
) error {
	name, mode := parts[len(parts)-1], os.FileMode(entry.Mode).Perm()&^w.mask
	if entry.Typeflag == tar.TypeDir {
		err := unix.Mkdirat(parent, name, 0o700)
		if err == nil {
			w.made.Directories++
		}
		w.modes = append(w.modes, directoryMode{parts, mode | 0o700})
		return unless(err, unix.EEXIST)
	}
	if err := unless(unix.Unlinkat(parent, name, 0), unix.ENOENT); err != nil {
		return err
	}
	switch entry.Typeflag {
	case tar.TypeSymlink:
		w.made.Links++
		return unix.Symlinkat(entry.Linkname, parent, name)
	case tar.TypeLink:
		w.made.Links++
		return w.link(entry.Linkname, parent, name)
	}
	w.made.Files++
	return writeFile(ctx, parent, name, mode|0o600, content)
}

func writeFile(ctx context.Context, parent int, name string, mode os.FileMode, content io.Reader) error {
	flags := unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	descriptor, err := unix.Openat(parent, name, flags, 0o600)
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(descriptor), name)
	_, err = io.Copy(file, &cancellable{ctx, content})
	if err == nil {
		err = file.Chmod(mode)
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

func (w *writing) link(source string, parent int, name string) error {
	parts, err := partsOf(source)
	if err != nil {
		return err
	}
	last := len(parts) - 1
	return w.within(parts[:last], func(at int) error { return unix.Linkat(at, parts[last], parent, name, 0) })
}

// within opens a directory below the root, without following links. Missing directories are created.
func (w *writing) within(parts []string, work func(directory int) error) error {
	at, err := unix.FcntlInt(uintptr(w.root), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err = unless(unix.Mkdirat(at, part, 0o755), unix.EEXIST); err != nil {
			break
		}
		var below int
		flags := unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
		if below, err = unix.Openat(at, part, flags, 0); err != nil {
			break
		}
		unix.Close(at)
		at = below
	}
	defer unix.Close(at)
	if err != nil {
		return err
	}
	return work(at)
}

// unless returns the error, or nil if it is the expected one.
func unless(err error, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

// umask returns the umask. The system call that reads it also sets it, so it is read from /proc.
func umask() os.FileMode {
	status, err := os.ReadFile("/proc/self/status")
	if err == nil {
		for _, line := range strings.Split(string(status), "\n") {
			if value := strings.TrimPrefix(line, "Umask:"); value != line {
				if mask, err := strconv.ParseUint(strings.TrimSpace(value), 8, 32); err == nil {
					return os.FileMode(mask)
				}
			}
		}
	}
	return 0o022
}
