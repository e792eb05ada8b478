package airlock

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"google.golang.org/grpc"

	pb "airlock.example/airlock/airlockpb"
)

// download is a download of a file or an archive. It survives broken connections: no byte is lost or repeated.
type download struct {
	connection *connection
	ctx        context.Context
	request    *pb.FileServiceDownloadRequest
	most       uint64
	view       *view[*pb.FileServiceDownloadResponse]
	header     *pb.DownloadHeader
	have       uint64
	hash       hash.Hash
	retries    *retries
	// The totals, once all bytes have arrived and their hash was checked.
	done *pb.DownloadDone
}

func newDownload(
	ctx context.Context, c *connection, request *pb.FileServiceDownloadRequest, most uint64,
) *download {
	return &download{
		connection: c, ctx: ctx, request: request, most: most, hash: sha256.New(), retries: c.retries(),
	}
}

// describe returns the description of the file or archive.
func (d *download) describe() (*pb.DownloadHeader, error) {
	for d.header == nil {
		if _, err := d.next(); err != nil {
			return nil, err
		}
	}
	return d.header, nil
}

// copyTo writes all bytes, and returns the totals.
func (d *download) copyTo(sink io.Writer) (*pb.DownloadDone, error) {
	defer d.drop()
	for d.done == nil {
		data, err := d.next()
		if err != nil {
			return nil, err
		}
		if _, err := sink.Write(data); err != nil {
			return nil, localError("cannot write the received bytes", err)
		}
	}
	return d.done, nil
}

// next returns the new bytes of one message. It repeats what is broken.
func (d *download) next() ([]byte, error) {
	data, err := d.step()
	if err == nil {
		return data, nil
	}
	d.drop()
	var own *Error
	if errors.As(err, &own) && own.Reason == "TRANSFER_GONE" && d.have == 0 && d.header != nil {
		d.header = nil
		return nil, nil
	}
	return nil, d.retries.outlast(d.ctx, err, d.connection.patience().Call)
}

func (d *download) step() ([]byte, error) {
	if d.view == nil {
		view, err := d.open()
		if err != nil {
			return nil, err
		}
		d.view = view
	}
	message, err := d.view.next(d.connection.patience().Silence)
	if err != nil {
		return nil, err
	}
	switch part := message.Part.(type) {
	case *pb.FileServiceDownloadResponse_Header:
		return nil, d.takeHeader(part.Header)
	case *pb.FileServiceDownloadResponse_Chunk:
		return d.takeChunk(part.Chunk)
	case *pb.FileServiceDownloadResponse_Done:
		return nil, d.takeDone(part.Done)
	}
	return nil, nil
}

func (d *download) open() (*view[*pb.FileServiceDownloadResponse], error) {
	if d.header != nil {
		d.request.TransferId, d.request.Offset = d.header.TransferId, d.have
	} else {
		d.request.TransferId, d.request.Offset = "", 0
	}
	return openView(d.ctx, d.connection, func(
		ctx context.Context, channel grpc.ClientConnInterface,
	) (stream[*pb.FileServiceDownloadResponse], error) {
		return pb.NewFileServiceClient(channel).Download(ctx, d.request)
	})
}

func (d *download) takeHeader(header *pb.DownloadHeader) error {
	known := d.header
	if known != nil && (known.TransferId != header.TransferId || known.Format != header.Format) {
		return d.connection.contract("it continued with another transfer")
	}
	if known == nil {
		d.header = header
	}
	return nil
}

func (d *download) takeChunk(chunk *pb.FileChunk) ([]byte, error) {
	switch {
	case d.header == nil:
		return nil, d.connection.contract("it sent bytes before it described the file")
	case chunk.Offset > d.have:
		return nil, d.connection.contract(skipped)
	}
	data, end, err := after(chunk.Offset, chunk.Data, d.have)
	if err != nil {
		return nil, d.connection.contract(err.Error())
	}
	if len(data) == 0 {
		return nil, nil
	}
	if d.have = end; d.have > d.most {
		return nil, &Error{Kind: KindLocal, Message: fmt.Sprintf("the file is longer than the limit of %d bytes", d.most)}
	}
	// The hash of this package returns no error.
	_, _ = d.hash.Write(data)
	d.retries.reset()
	return data, nil
}

func (d *download) takeDone(done *pb.DownloadDone) error {
	if done.Size != d.have || !bytes.Equal(done.Sha256, d.hash.Sum(nil)) {
		return d.connection.contract("the received bytes do not match the announced hash")
	}
	d.done = done
	return nil
}

func (d *download) drop() {
	if d.view != nil {
		d.view.drop()
		d.view = nil
	}
}
