package airlock_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	airlock "airlock.example/airlock"
	pb "airlock.example/airlock/airlockpb"
)

var content = []byte(strings.Repeat("0123456789", 256))

type sendPart = func(*pb.FileServiceDownloadResponse) error

// downloading answers downloads of the content. If it cuts, the first two break.
func downloading(cut, wrongHash bool) func(int, *pb.FileServiceDownloadRequest, sendPart) error {
	return func(call int, request *pb.FileServiceDownloadRequest, send sendPart) error {
		start := request.Offset
		hash := sha256.Sum256(content)
		if wrongHash {
			hash = sha256.Sum256(nil)
		}
		parts := []*pb.FileServiceDownloadResponse{header(), chunk(start, content[start:start+500])}
		if !cut || call > 2 {
			done := &pb.DownloadDone{Size: uint64(len(content)), Sha256: hash[:]}
			parts = append(parts, chunk(start+200, content[start+200:]),
				&pb.FileServiceDownloadResponse{Part: &pb.FileServiceDownloadResponse_Done{Done: done}})
		}
		for _, part := range parts {
			if err := send(part); err != nil {
				return err
			}
		}
		if cut && call <= 2 {
			return errBroken
		}
		return nil
	}
}

func header() *pb.FileServiceDownloadResponse {
	header := &pb.DownloadHeader{TransferId: "t", Format: pb.FileFormat_FILE_FORMAT_FILE}
	return &pb.FileServiceDownloadResponse{Part: &pb.FileServiceDownloadResponse_Header{Header: header}}
}

func chunk(offset uint64, data []byte) *pb.FileServiceDownloadResponse {
	chunk := &pb.FileChunk{Offset: offset, Data: data}
	return &pb.FileServiceDownloadResponse{Part: &pb.FileServiceDownloadResponse_Chunk{Chunk: chunk}}
}

func filesOf(t *testing.T, f *fake) *airlock.Files {
	t.Helper()
	session, err := connected(t, f, airlock.Settings{}).Session(context.Background(), airlock.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return session.Files
}

func TestADownloadContinuesAndReturnsEachByteOnce(t *testing.T) {
	f := &fake{download: downloading(true, false)}
	got, err := filesOf(t, f).Read(context.Background(), "x")
	if err != nil || !bytes.Equal(got, content) {
		t.Fatal(err, len(got))
	}
	at := []uint64{}
	for i, request := range f.downloads {
		at = append(at, request.Offset)
		if (request.TransferId == "t") != (i > 0) {
			t.Error(i, request.TransferId)
		}
	}
	if !reflect.DeepEqual(at, []uint64{0, 500, 1000}) {
		t.Fatal(at)
	}
}

func TestADownloadWithAWrongHashIsAnErrorAndLeavesNoFile(t *testing.T) {
	directory := t.TempDir()
	files := filesOf(t, &fake{download: downloading(false, true)})
	_, err := files.Download(context.Background(), "x", filepath.Join(directory, "x"))
	if !errors.Is(err, airlock.KindContract) || !strings.Contains(err.Error(), "hash") {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(directory); err != nil || len(entries) != 0 {
		t.Fatal(entries, err)
	}
}
