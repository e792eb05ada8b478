package airlock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"

	pb "airlock.example/airlock/airlockpb"
)

const (
	filesPerPage = 1000
	// The largest file that Read returns.
	readBytes    = 64 * 1024 * 1024
	archiveBytes = 64 * 1024 * 1024 * 1024
	defaultMode  = 0o644
)

// Files are the files of a session: its workspace, HOME and /tmp. A path is absolute inside the sandbox, or relative to
// /workspace. It can have bytes that are not UTF-8.
type Files struct {
	connection *connection
	sessionID  string
}

// Filter selects files. The globs match paths relative to the directory.
type Filter struct{ Include, Exclude []string }

func (f Filter) message() *pb.FileFilter {
	return &pb.FileFilter{Include: f.Include, Exclude: f.Exclude}
}

// pathOf returns a path as text, or as bytes if it is not UTF-8.
func pathOf(path string) (string, []byte) {
	if utf8.ValidString(path) {
		return path, nil
	}
	return "", []byte(path)
}

// Read returns the content of a file of at most 64 MiB. Download a larger one.
func (f *Files) Read(ctx context.Context, path string) ([]byte, error) {
	var content bytes.Buffer
	download := newDownload(ctx, f.connection, f.downloadRequest(path), readBytes)
	download.request.Format = pb.FileFormat_FILE_FORMAT_FILE
	if _, err := download.copyTo(&content); err != nil {
		return nil, err
	}
	return content.Bytes(), nil
}

// Write writes a file with the mode 0644. Missing directories are created, and an existing file is replaced.
func (f *Files) Write(ctx context.Context, path string, content []byte) error {
	return f.WriteMode(ctx, path, content, defaultMode)
}

// WriteMode writes a file, and sets its permission bits.
func (f *Files) WriteMode(ctx context.Context, path string, content []byte, mode os.FileMode) error {
	header := f.uploadHeader(path, pb.FileFormat_FILE_FORMAT_FILE)
	header.Mode = uint32(mode.Perm())
	_, err := upload(ctx, f.connection, header, bytes.NewReader(content))
	return err
}

// Stat returns the properties of a file. A symbolic link is described, not followed.
func (f *Files) Stat(ctx context.Context, path string) (FileInfo, error) {
	request := &pb.FileServiceStatRequest{SessionId: f.sessionID}
	request.Path, request.PathBytes = pathOf(path)
	answer, err := f.connection.files(callTimeout).Stat(ctx, request)
	return fileOf(answer.GetFile()), err
}

// Exists reports whether a file exists.
func (f *Files) Exists(ctx context.Context, path string) (bool, error) {
	_, err := f.Stat(ctx, path)
	if errors.Is(err, KindNotFound) {
		return false, nil
	}
	return err == nil, err
}

// List returns the files in a directory, ordered by path.
func (f *Files) List(ctx context.Context, path string, filter Filter) ([]FileInfo, error) {
	return f.list(ctx, path, filter, false)
}

// Walk returns all files below a directory, ordered by path.
func (f *Files) Walk(ctx context.Context, path string, filter Filter) ([]FileInfo, error) {
	return f.list(ctx, path, filter, true)
}

func (f *Files) list(ctx context.Context, path string, filter Filter, recursive bool) ([]FileInfo, error) {
	request := &pb.FileServiceListRequest{
		SessionId: f.sessionID, Recursive: recursive, Filter: filter.message(), Page: &pb.PageRequest{PageSize: filesPerPage},
	}
	request.Path, request.PathBytes = pathOf(path)
	var all []FileInfo
	for {
		answer, err := f.connection.files(slowCallTimeout).List(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, one := range answer.Files {
			all = append(all, fileOf(one))
		}
		if request.Page.PageToken = answer.NextPageToken; answer.NextPageToken == "" {
			return all, nil
		}
	}
}

// Diff returns the changes in the workspace since it was created, ordered by path.
func (f *Files) Diff(ctx context.Context, path string, filter Filter) ([]FileChange, error) {
	return f.diff(ctx, path, filter, false)
}

// DiffPatch returns the changes as Diff does, with unified diffs.
func (f *Files) DiffPatch(ctx context.Context, path string, filter Filter) ([]FileChange, error) {
	return f.diff(ctx, path, filter, true)
}

func (f *Files) diff(ctx context.Context, path string, filter Filter, patch bool) ([]FileChange, error) {
	request := &pb.FileServiceDiffRequest{
		SessionId: f.sessionID, Patch: patch, Filter: filter.message(), Page: &pb.PageRequest{},
	}
	request.Path, request.PathBytes = pathOf(path)
	var all []FileChange
	for {
		answer, err := f.connection.files(slowCallTimeout).Diff(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, one := range answer.Changes {
			all = append(all, changeOf(one))
		}
		if request.Page.PageToken = answer.NextPageToken; answer.NextPageToken == "" {
			return all, nil
		}
	}
}

// Upload copies a local file, or the content of a local directory, into the session. Links are not followed. Owners are
// not transferred. The globs of exclude match paths below the directory: `*` does not match slashes, `**` does.
func (f *Files) Upload(ctx context.Context, source, path string, exclude ...string) (Transferred, error) {
	info, err := os.Stat(source)
	if err != nil {
		return Transferred{}, localError("cannot read the local file", err)
	}
	if info.Mode().IsRegular() {
		return f.uploadFile(ctx, source, path, info.Mode())
	}
	archive, err := scratch()
	if err != nil {
		return Transferred{}, err
	}
	defer archive.Close()
	skipped, err := pack(ctx, source, archive, exclude)
	if err != nil {
		return Transferred{}, err
	}
	done, err := upload(ctx, f.connection, f.uploadHeader(path, pb.FileFormat_FILE_FORMAT_TAR), archive)
	return uploaded(done, skipped), err
}

func (f *Files) uploadFile(ctx context.Context, source, path string, mode os.FileMode) (Transferred, error) {
	file, err := os.Open(source)
	if err != nil {
		return Transferred{}, localError("cannot read the local file", err)
	}
	defer file.Close()
	header := f.uploadHeader(path, pb.FileFormat_FILE_FORMAT_FILE)
	header.Mode = uint32(mode.Perm())
	done, err := upload(ctx, f.connection, header, file)
	return uploaded(done, nil), err
}

func uploaded(done *pb.FileServiceUploadResponse, skipped []string) Transferred {
	return Transferred{int(done.GetFiles()), int(done.GetDirectories()), int(done.GetLinks()), skipped}
}

// Download copies the content of a directory of the session into a local directory, or a file to a local file. The whole
// archive is checked before anything is written. A new directory appears complete or not at all.
func (f *Files) Download(ctx context.Context, path, target string, exclude ...string) (Transferred, error) {
	download := newDownload(ctx, f.connection, f.downloadRequest(path), archiveBytes)
	download.request.Exclude = exclude
	defer download.drop()
	header, err := download.describe()
	if err != nil {
		return Transferred{}, err
	}
	mode := os.FileMode(header.GetInfo().GetMode()).Perm()
	if header.Format == pb.FileFormat_FILE_FORMAT_FILE {
		return Transferred{Files: 1}, intoFile(download, target, mode)
	}
	archive, err := scratch()
	if err != nil {
		return Transferred{}, err
	}
	defer archive.Close()
	done, err := download.copyTo(archive)
	if err != nil {
		return Transferred{}, err
	}
	made, err := unpack(ctx, archive, target, mode)
	for _, one := range done.Skipped {
		made.Skipped = append(made.Skipped, fmt.Sprintf("%s: %s", textOf(one.Path, one.PathBytes), one.Reason))
	}
	return made, err
}

func (f *Files) downloadRequest(path string) *pb.FileServiceDownloadRequest {
	request := &pb.FileServiceDownloadRequest{SessionId: f.sessionID}
	request.Path, request.PathBytes = pathOf(path)
	return request
}

func (f *Files) uploadHeader(path string, format pb.FileFormat) *pb.UploadHeader {
	header := &pb.UploadHeader{SessionId: f.sessionID, Format: format}
	header.Path, header.PathBytes = pathOf(path)
	return header
}

// scratch returns an unnamed file for an archive.
func scratch() (*os.File, error) {
	file, err := os.CreateTemp("", "airlock-")
	if err != nil {
		return nil, localError("cannot keep an archive", err)
	}
	if err := os.Remove(file.Name()); err != nil {
		file.Close()
		return nil, localError("cannot keep an archive", err)
	}
	return file, nil
}

// intoFile replaces a file atomically after all data has arrived.
func intoFile(download *download, target string, mode os.FileMode) error {
	file, err := os.CreateTemp(filepath.Dir(target), temporaryPrefix)
	if err != nil {
		return localError("cannot write the local file", err)
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if _, err := download.copyTo(file); err != nil {
		return err
	}
	if err := file.Chmod(mode&^umask() | 0o600); err != nil {
		return localError("cannot write the local file", err)
	}
	if err := os.Rename(file.Name(), target); err != nil {
		return localError("cannot write the local file", err)
	}
	return nil
}
