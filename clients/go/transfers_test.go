package airlock_test

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"

	airlock "airlock.example/airlock"
)

func (c *calls) fileWrite(args object) (object, error) {
	files, path, content := c.session(args).Files, text(args, "path"), []byte(text(args, "content"))
	if mode, ok := args["mode"].(float64); ok {
		return nil, files.WriteMode(c.ctx, path, content, os.FileMode(mode))
	}
	return nil, files.Write(c.ctx, path, content)
}

func (c *calls) fileRead(args object) (object, error) {
	content, err := c.session(args).Files.Read(c.ctx, text(args, "path"))
	return object{"content": ofBytes(content)}, err
}

func (c *calls) fileStat(args object) (object, error) {
	file, err := c.session(args).Files.Stat(c.ctx, text(args, "path"))
	return object{"type": file.Type, "size": file.Size, "mode": file.Mode}, err
}

func (c *calls) fileList(args object) (object, error) {
	files, filter := c.session(args).Files, airlock.Filter{Include: list(args, "include"), Exclude: list(args, "exclude")}
	of := files.List
	if recursive, _ := args["recursive"].(bool); recursive {
		of = files.Walk
	}
	found, err := of(c.ctx, text(args, "path"), filter)
	paths := []string{}
	for _, file := range found {
		paths = append(paths, file.Path)
	}
	return object{"paths": paths}, err
}

func (c *calls) fileDiff(args object) (object, error) {
	files := c.session(args).Files
	of := files.Diff
	if patch, _ := args["patch"].(bool); patch {
		of = files.DiffPatch
	}
	found, err := of(c.ctx, text(args, "path"), airlock.Filter{})
	changes := []object{}
	for _, one := range found {
		changes = append(changes, object{"kind": one.Kind, "path": one.Path, "patch": one.Patch})
	}
	return object{"changes": changes}, err
}

func (c *calls) directoryMake(args object) (object, error) {
	for name, content := range args["files"].(object) {
		path := filepath.Join(text(args, "at"), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, []byte(content.(string)), 0o644); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (c *calls) directoryUpload(args object) (object, error) {
	files := c.session(args).Files
	done, err := files.Upload(c.ctx, text(args, "source"), text(args, "path"), list(args, "exclude")...)
	return object{"files": done.Files}, err
}

func (c *calls) directoryDownload(args object) (object, error) {
	done, err := c.session(args).Files.Download(c.ctx, text(args, "path"), text(args, "target"))
	return object{"files": done.Files}, err
}

func (c *calls) directoryRead(args object) (object, error) {
	root, files := text(args, "at"), object{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		files[name] = ofBytes(content)
		return err
	})
	return object{"files": files}, err
}

func (c *calls) portExchange(args object) (object, error) {
	port, err := c.session(args).Connect(c.ctx, int(number(args, "port")))
	if err != nil {
		return nil, err
	}
	defer port.Close()
	if _, err := port.Write([]byte(text(args, "send"))); err != nil {
		return nil, err
	}
	if err := port.CloseWrite(); err != nil {
		return nil, err
	}
	received, err := io.ReadAll(port)
	return object{"received": ofBytes(received)}, err
}

func (c *calls) connect(args object) (object, error) {
	client, err := airlock.Connect(c.ctx, airlock.Settings{
		Address: text(args, "address"), CA: text(args, "ca"), Token: text(args, "token"),
		TokenFile: text(args, "token_file"), State: text(args, "state"), Getenv: noEnvironment,
	})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	_, err = client.Sessions(c.ctx)
	return nil, err
}
