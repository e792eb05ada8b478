package airlock

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const (
	archiveEntries  = 1_000_000
	temporaryPrefix = ".airlock-"
)

// unpack writes an archive's content into a directory. The archive is checked completely before anything is written.
// Nothing outside the directory is changed: no name leads out of it, and no link is followed. A new directory appears
// complete or not at all; `mode` is its permission bits.
func unpack(ctx context.Context, archive io.ReadSeeker, into string, mode os.FileMode) (Transferred, error) {
	if err := check(ctx, archive); err != nil {
		return Transferred{}, err
	}
	if _, err := os.Lstat(into); err == nil {
		if err := conflicts(ctx, archive, into); err != nil {
			return Transferred{}, err
		}
		made, err := write(ctx, archive, into)
		return made, cannotWrite(into, err)
	}
	scratch, err := os.MkdirTemp(filepath.Dir(into), temporaryPrefix)
	if err != nil {
		return Transferred{}, cannotWrite(into, err)
	}
	made, err := write(ctx, archive, scratch)
	if err == nil {
		err = os.Chmod(scratch, mode.Perm()&^umask()|0o700)
	}
	if err == nil {
		err = os.Rename(scratch, into)
	}
	if err != nil {
		// The error of the write is the one to report.
		_ = os.RemoveAll(scratch)
		return Transferred{}, cannotWrite(into, err)
	}
	return made, nil
}

func cannotWrite(into string, err error) error {
	var own *Error
	if err == nil || errors.As(err, &own) || errors.Is(err, context.Canceled) {
		return err
	}
	return localError(fmt.Sprintf("cannot write `%s`", into), err)
}

func refused(format string, values ...interface{}) *Error {
	return newError(KindArchive, "the archive was refused: "+fmt.Sprintf(format, values...))
}

// entries calls a function for each entry of an archive, with the parts of its name.
func entries(
	ctx context.Context, archive io.ReadSeeker, each func(entry *tar.Header, parts []string, content io.Reader) error,
) error {
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return localError("cannot read the archive", err)
	}
	reader := tar.NewReader(bufio.NewReader(archive))
	for count := 0; ; count++ {
		if err := stopped(ctx); err != nil {
			return err
		}
		entry, err := reader.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return newError(KindArchive, "the archive is invalid: "+err.Error())
		case count >= archiveEntries:
			return newError(KindArchive, fmt.Sprintf("the archive has more than %d entries", archiveEntries))
		}
		parts, err := partsOf(entry.Name)
		if err == nil && len(parts) > 0 {
			err = each(entry, parts, reader)
		}
		if err != nil {
			return err
		}
	}
}

// partsOf returns the parts of a name, which must not lead out of the directory.
func partsOf(name string) ([]string, error) {
	var parts []string
	for _, part := range strings.Split(name, "/") {
		if part == ".." {
			return nil, refused("the name `%s` leads out of the directory", name)
		}
		if part != "" && part != "." {
			parts = append(parts, part)
		}
	}
	if strings.HasPrefix(name, "/") || strings.Contains(name, "\x00") {
		return nil, refused("the name `%s` leads out of the directory", name)
	}
	return parts, nil
}

// check returns an error if an entry must not be unpacked.
func check(ctx context.Context, archive io.ReadSeeker) error {
	files := map[string]bool{}
	return entries(ctx, archive, func(entry *tar.Header, parts []string, _ io.Reader) error {
		name := strings.Join(parts, "/")
		switch entry.Typeflag {
		case tar.TypeReg:
			files[name] = true
		case tar.TypeDir:
		case tar.TypeSymlink:
			if leaves(parts, entry.Linkname) {
				return refused("the link `%s` leads out of the directory", entry.Name)
			}
		case tar.TypeLink:
			source, err := partsOf(entry.Linkname)
			if err != nil {
				return err
			}
			if !files[strings.Join(source, "/")] {
				return refused("`%s` links to a file that it does not have", entry.Name)
			}
			files[name] = true
		default:
			return refused("`%s` is not a file, directory or link", entry.Name)
		}
		return nil
	})
}

// leaves reports whether a symbolic link leads out of the directory.
func leaves(parts []string, link string) bool {
	if strings.HasPrefix(link, "/") {
		return true
	}
	depth := len(parts) - 1
	for _, part := range strings.Split(link, "/") {
		switch part {
		case "", ".":
		case "..":
			depth--
		default:
			depth++
		}
		if depth < 0 {
			return true
		}
	}
	return false
}

// conflicts returns an error if an existing file is in the way, before anything is written.
func conflicts(ctx context.Context, archive io.ReadSeeker, into string) error {
	return entries(ctx, archive, func(entry *tar.Header, parts []string, _ io.Reader) error {
		at := into
		for i, part := range parts {
			at = filepath.Join(at, part)
			found, err := os.Lstat(at)
			if os.IsNotExist(err) {
				return nil
			}
			if err != nil {
				return cannotWrite(into, err)
			}
			if found.IsDir() != (i < len(parts)-1 || entry.Typeflag == tar.TypeDir) {
				made := newError(KindArchive, fmt.Sprintf("`%s` is in the way", at))
				made.Remedy = "remove it, or choose another directory"
				return made
			}
		}
		return nil
	})
}
