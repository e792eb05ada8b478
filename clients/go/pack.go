package airlock

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// packing writes a local directory as a tar archive. Links are not followed.
type packing struct {
	ctx     context.Context
	archive *tar.Writer
	exclude []*regexp.Regexp
	// The skipped files with the reasons.
	skipped []string
}

// pack writes the content of a directory as an archive, and returns the skipped files with the reasons.
func pack(ctx context.Context, directory string, into io.Writer, exclude []string) ([]string, error) {
	p := &packing{ctx: ctx, archive: tar.NewWriter(into)}
	for _, glob := range exclude {
		one, err := globOf(glob)
		if err != nil {
			return nil, err
		}
		p.exclude = append(p.exclude, one)
	}
	if info, err := os.Stat(directory); err != nil || !info.IsDir() {
		return nil, &Error{Kind: KindLocal, Message: fmt.Sprintf("`%s` is not a local directory", directory)}
	}
	err := p.walk(directory, "")
	if err == nil {
		err = p.archive.Close()
	}
	if err := stopped(ctx); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, localError(fmt.Sprintf("cannot read `%s`", directory), err)
	}
	return p.skipped, nil
}

func (p *packing) walk(directory, below string) error {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := below + entry.Name()
		if p.excludes(name) {
			continue
		}
		if err := p.ctx.Err(); err != nil {
			return err
		}
		path := filepath.Join(directory, entry.Name())
		if err := p.add(path, name); err != nil {
			return err
		}
		if entry.IsDir() {
			if err := p.walk(path, name+"/"); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *packing) excludes(name string) bool {
	for _, one := range p.exclude {
		if one.MatchString(name) {
			return true
		}
	}
	return false
}

func (p *packing) add(path, name string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	header := &tar.Header{
		Name: name, Mode: int64(info.Mode().Perm()), ModTime: info.ModTime().Truncate(time.Second), Format: tar.FormatGNU,
	}
	switch info.Mode().Type() {
	case 0:
		header.Typeflag, header.Size = tar.TypeReg, info.Size()
	case os.ModeDir:
		header.Typeflag, header.Name = tar.TypeDir, name+"/"
	case os.ModeSymlink:
		header.Typeflag = tar.TypeSymlink
		if header.Linkname, err = os.Readlink(path); err != nil {
			return err
		}
	default:
		p.skipped = append(p.skipped, name+": not a file, directory or link")
		return nil
	}
	if err := p.archive.WriteHeader(header); err != nil || header.Typeflag != tar.TypeReg {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	// A file that grows is copied as it was; one that shrinks is an error.
	_, err = io.CopyN(p.archive, &cancellable{p.ctx, file}, header.Size)
	return err
}
