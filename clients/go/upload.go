package airlock

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	pb "airlock.example/airlock/airlockpb"
)

const (
	// The time in which the server must take one chunk.
	stallTimeout = time.Minute
	// The time for the response after the last chunk. A large archive takes time to unpack.
	unpackTimeout = 10 * time.Minute
)

// sending is an upload, and the number of bytes that were sent.
type sending struct {
	connection *connection
	header     *pb.UploadHeader
	source     io.ReadSeeker
	size, sent uint64
}

// upload uploads a file, or the content of a tar archive. It survives broken connections. The header's size and hash are
// computed.
func upload(
	ctx context.Context, c *connection, header *pb.UploadHeader, source io.ReadSeeker,
) (*pb.FileServiceUploadResponse, error) {
	s := &sending{connection: c, header: header, source: source}
	if err := s.digest(ctx); err != nil {
		return nil, err
	}
	header.TransferId = newKey()
	retries, limit := c.retries(), c.patience().Call
	there := uint64(0)
	for {
		start := s.sent
		answer, err := s.send(ctx)
		if err == nil {
			return answer, nil
		}
		if end, ok := continueAt(err); ok && end <= s.size {
			s.sent = end
			if there < end && end < start {
				// The server holds more than it had ever confirmed: there is progress.
				there = end
				retries.reset()
				continue
			}
			err = c.unreachable("it does not keep the sent bytes")
		}
		if err := retries.outlast(ctx, err, limit); err != nil {
			return nil, err
		}
	}
}

// digest sets the size and the hash of the header.
func (s *sending) digest(ctx context.Context) error {
	hash := sha256.New()
	if _, err := s.source.Seek(0, io.SeekStart); err != nil {
		return localError("cannot read the bytes to upload", err)
	}
	size, err := io.Copy(hash, &cancellable{ctx, s.source})
	if err != nil {
		return readError(ctx, err)
	}
	s.size = uint64(size)
	s.header.Size, s.header.Sha256 = proto.Uint64(s.size), hash.Sum(nil)
	return nil
}

// send sends the header and all remaining bytes, and returns the response.
func (s *sending) send(ctx context.Context) (*pb.FileServiceUploadResponse, error) {
	c := s.connection
	channel, one, err := c.separate()
	if err != nil {
		return nil, err
	}
	defer channel.Close()
	inner, cancel := context.WithCancel(c.outgoing(ctx))
	defer cancel()
	stall := time.AfterFunc(stallTimeout, cancel)
	stream, err := pb.NewFileServiceClient(channel).Upload(inner)
	if err == nil {
		err = s.chunks(ctx, stream, stall)
	}
	var answer *pb.FileServiceUploadResponse
	if err == nil {
		stall.Reset(unpackTimeout)
		answer, err = stream.CloseAndRecv()
	}
	if expired := !stall.Stop(); expired && err != nil && ctx.Err() == nil {
		return nil, c.unreachable("it accepts no more bytes")
	}
	return answer, c.failed(ctx, one, err)
}

// chunks sends the header and all remaining bytes. If the server ends the stream, its response has the reason.
func (s *sending) chunks(ctx context.Context, stream pb.FileService_UploadClient, stall *time.Timer) error {
	header := &pb.FileServiceUploadRequest_Header{Header: s.header}
	if stream.Send(&pb.FileServiceUploadRequest{Part: header}) != nil {
		return nil
	}
	if _, err := s.source.Seek(int64(s.sent), io.SeekStart); err != nil {
		return localError("cannot read the bytes to upload", err)
	}
	for s.sent < s.size {
		data := make([]byte, smaller(chunkBytes, s.size-s.sent))
		if _, err := io.ReadFull(s.source, data); err != nil {
			return localError("cannot read the bytes to upload", err)
		}
		stall.Reset(stallTimeout)
		chunk := &pb.FileServiceUploadRequest_Chunk{Chunk: &pb.FileChunk{Offset: s.sent, Data: data}}
		if stream.Send(&pb.FileServiceUploadRequest{Part: chunk}) != nil {
			return nil
		}
		s.sent += uint64(len(data))
	}
	return nil
}

// continueAt returns the offset at which a transfer must continue, if the error has one.
func continueAt(err error) (uint64, bool) {
	var own *Error
	if !errors.As(err, &own) || own.Code != codes.OutOfRange {
		return 0, false
	}
	end, err := strconv.ParseUint(own.Metadata["end"], 10, 64)
	return end, err == nil
}

// cancellable is a reader that fails when its context ends.
type cancellable struct {
	ctx    context.Context
	source io.Reader
}

// Read reads from the source.
func (c *cancellable) Read(into []byte) (int, error) {
	if err := stopped(c.ctx); err != nil {
		return 0, err
	}
	return c.source.Read(into)
}

// readError returns the error of a local read, or that of the context.
func readError(ctx context.Context, err error) error {
	if stopped := stopped(ctx); stopped != nil {
		return stopped
	}
	return localError("cannot read the bytes to upload", err)
}
