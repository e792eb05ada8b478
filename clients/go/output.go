package airlock

import (
	"context"
	"io"

	"google.golang.org/grpc"

	pb "airlock.example/airlock/airlockpb"
)

// Selection is a part of an output stream: a range (the default), its head or its tail. At most one of the fields from
// HeadBytes on is set.
type Selection struct {
	// Stderr selects standard error, for a command with SeparateStderr.
	Stderr bool
	// Offset is the first byte of a range.
	Offset uint64
	// Length is the number of bytes of a range. 0: to the end.
	Length                                     uint64
	HeadBytes, HeadLines, TailBytes, TailLines uint64
}

// Search selects the lines of an output stream that match a pattern.
type Search struct {
	Stderr bool
	// Pattern is a regular expression without look-around and back-references.
	Pattern string
	// Fixed treats the pattern as literal text.
	Fixed      bool
	IgnoreCase bool
	Invert     bool
	// Before and After are the numbers of lines to show around each match.
	Before, After uint32
	// MaxMatches is the largest number of matches. 0: 1,000.
	MaxMatches uint32
	Offset     uint64
}

// Piece is a part of an output: OutputBytes, OutputGap, OutputLine or OutputDone.
type Piece interface{ isPiece() }

// OutputBytes are bytes of the output.
type OutputBytes struct {
	Offset uint64
	Data   []byte
}

// OutputGap is a range of bytes that are no longer held. The end is exclusive.
type OutputGap struct{ Start, End uint64 }

// OutputLine is a line that matched, or a line of its context.
type OutputLine struct {
	Offset uint64
	Data   []byte
	// Number is counted from 1. 0 if it is unknown.
	Number uint64
	// Context reports that the line is context and did not match.
	Context   bool
	Truncated bool
}

// OutputDone is the end of a complete read.
type OutputDone struct {
	// NextOffset is the offset at which the next read continues.
	NextOffset uint64
	Total      uint64
	// Complete reports that the stream no longer grows.
	Complete bool
	Matches  uint64
	// More reports that the search stopped at MaxMatches.
	More bool
}

func (OutputBytes) isPiece() {}
func (OutputGap) isPiece()   {}
func (OutputLine) isPiece()  {}
func (OutputDone) isPiece()  {}

// partPosition is the position of a reader in a part of the output.
type partPosition interface {
	// request returns the request for the rest.
	request() *pb.ExecutionServiceReadOutputRequest
	// cut records that the view broke.
	cut()
	// admit returns the new part of a response, or nil.
	admit(*pb.ExecutionServiceReadOutputResponse) (Piece, error)
	// wantsEnd reports whether the open view would deliver lines that are not wanted.
	wantsEnd() bool
}

// OutputReader reads one part of one output stream. After a broken connection, it continues at the same position without
// losing or repeating a byte. Use it from one goroutine, and Close it.
type OutputReader struct {
	connection  *connection
	ctx         context.Context
	executionID string
	stream      pb.OutputStream
	position    partPosition
	view        *view[*pb.ExecutionServiceReadOutputResponse]
	retries     *retries
	finished    bool
}

func newOutputReader(ctx context.Context, c *connection, id string, stderr bool, position partPosition) *OutputReader {
	made := &OutputReader{
		connection: c, ctx: ctx, executionID: id, stream: pb.OutputStream_OUTPUT_STREAM_STDOUT, position: position,
		retries: c.retries(),
	}
	if stderr {
		made.stream = pb.OutputStream_OUTPUT_STREAM_STDERR
	}
	return made
}

// Next returns the next piece, and io.EOF after OutputDone.
func (r *OutputReader) Next() (Piece, error) {
	for !r.finished {
		piece, err := r.step()
		if err != nil {
			r.drop()
			r.position.cut()
			if err := r.retries.outlast(r.ctx, err, r.connection.patience().Call); err != nil {
				return nil, err
			}
			continue
		}
		if piece != nil {
			r.retries.reset()
			if _, ok := piece.(OutputDone); ok {
				r.Close()
			}
			return piece, nil
		}
	}
	return nil, io.EOF
}

// Close ends the read.
func (r *OutputReader) Close() {
	r.finished = true
	r.drop()
}

func (r *OutputReader) step() (Piece, error) {
	if r.view == nil {
		view, err := r.open()
		if err != nil {
			return nil, err
		}
		r.view = view
	}
	response, err := r.view.next(r.connection.patience().Silence)
	if err != nil {
		return nil, err
	}
	piece, err := r.position.admit(response)
	if err != nil {
		return nil, r.connection.contract(err.Error())
	}
	if r.position.wantsEnd() {
		r.drop()
	}
	return piece, nil
}

func (r *OutputReader) open() (*view[*pb.ExecutionServiceReadOutputResponse], error) {
	request := r.position.request()
	request.ExecutionId, request.Stream = r.executionID, r.stream
	return openView(r.ctx, r.connection, func(
		ctx context.Context, channel grpc.ClientConnInterface,
	) (stream[*pb.ExecutionServiceReadOutputResponse], error) {
		return pb.NewExecutionServiceClient(channel).ReadOutput(ctx, request)
	})
}

func (r *OutputReader) drop() {
	if r.view != nil {
		r.view.drop()
		r.view = nil
	}
}
