package airlock

import (
	pb "airlock.example/airlock/airlockpb"
	"bytes"
)

// amount is the rest of a selection.
type amount int

const (
	toTheEnd amount = iota
	someBytes
	someLines
)

// bytesPosition is the position of a reader of bytes.
type bytesPosition struct {
	selection Selection
	// The offset of the next byte. Not known before the first byte of a tail.
	at    uint64
	known bool
	// The rest that was selected.
	unit amount
	left uint64
	// Whether something was returned, so that the rest must be requested as a range.
	moved bool
	// Whether the open view answers only with the closing piece.
	onlyEnd bool
}

func newBytesPosition(s Selection) *bytesPosition {
	made := &bytesPosition{selection: s, known: true}
	switch {
	case s.HeadBytes > 0:
		made.unit, made.left = someBytes, s.HeadBytes
	case s.HeadLines > 0:
		made.unit, made.left = someLines, s.HeadLines
	case s.TailBytes > 0, s.TailLines > 0:
		made.known = false
	default:
		made.at = s.Offset
		if s.Length > 0 {
			made.unit, made.left = someBytes, s.Length
		}
	}
	return made
}

func (p *bytesPosition) request() *pb.ExecutionServiceReadOutputRequest {
	p.onlyEnd = false
	if !p.moved || !p.known {
		return p.first()
	}
	length := uint64(0)
	if p.unit != toTheEnd && p.left == 0 {
		p.onlyEnd, length = true, 1
	} else if p.unit == someBytes {
		length = p.left
	}
	return rangeRequest(p.at, length)
}

func (p *bytesPosition) first() *pb.ExecutionServiceReadOutputRequest {
	s, request := p.selection, &pb.ExecutionServiceReadOutputRequest{}
	switch {
	case s.HeadBytes > 0:
		head := &pb.OutputEdge{Amount: &pb.OutputEdge_Bytes{Bytes: s.HeadBytes}}
		request.Selection = &pb.ExecutionServiceReadOutputRequest_Head{Head: head}
	case s.HeadLines > 0:
		head := &pb.OutputEdge{Amount: &pb.OutputEdge_Lines{Lines: s.HeadLines}}
		request.Selection = &pb.ExecutionServiceReadOutputRequest_Head{Head: head}
	case s.TailBytes > 0:
		tail := &pb.OutputEdge{Amount: &pb.OutputEdge_Bytes{Bytes: s.TailBytes}}
		request.Selection = &pb.ExecutionServiceReadOutputRequest_Tail{Tail: tail}
	case s.TailLines > 0:
		tail := &pb.OutputEdge{Amount: &pb.OutputEdge_Lines{Lines: s.TailLines}}
		request.Selection = &pb.ExecutionServiceReadOutputRequest_Tail{Tail: tail}
	default:
		return rangeRequest(s.Offset, s.Length)
	}
	return request
}

func rangeRequest(offset, length uint64) *pb.ExecutionServiceReadOutputRequest {
	part := &pb.OutputRange{Offset: offset, Length: length}
	return &pb.ExecutionServiceReadOutputRequest{
		Selection: &pb.ExecutionServiceReadOutputRequest_Range{Range: part},
	}
}

func (p *bytesPosition) cut() {}

func (p *bytesPosition) wantsEnd() bool {
	return p.moved && p.unit == someLines && p.left == 0 && !p.onlyEnd
}

func (p *bytesPosition) admit(response *pb.ExecutionServiceReadOutputResponse) (Piece, error) {
	switch part := response.Part.(type) {
	case *pb.ExecutionServiceReadOutputResponse_Done:
		done := doneOf(part.Done)
		if p.onlyEnd {
			done.NextOffset, done.Matches, done.More = p.at, 0, false
		}
		return done, nil
	case *pb.ExecutionServiceReadOutputResponse_Output:
		if !p.onlyEnd {
			return p.admitOutput(part.Output)
		}
	case *pb.ExecutionServiceReadOutputResponse_Gap:
		if !p.onlyEnd {
			return p.admitGap(part.Gap)
		}
	case *pb.ExecutionServiceReadOutputResponse_Line:
		return nil, breach("it sent lines where bytes were requested")
	}
	return nil, nil
}

func (p *bytesPosition) admitOutput(output *pb.Output) (Piece, error) {
	start, err := p.start(output.Offset)
	if err != nil {
		return nil, err
	}
	data, _, err := after(output.Offset, output.Data, start)
	if err != nil {
		return nil, err
	}
	if data = p.wanted(data); len(data) == 0 {
		return nil, nil
	}
	p.move(start + uint64(len(data)))
	return OutputBytes{start, data}, nil
}

func (p *bytesPosition) admitGap(gap *pb.Gap) (Piece, error) {
	start, err := p.start(gap.From)
	if err != nil || gap.To <= start {
		return nil, err
	}
	if p.unit == someBytes {
		p.left -= smaller(p.left, gap.To-start)
	}
	p.move(gap.To)
	return OutputGap{start, gap.To}, nil
}

func (p *bytesPosition) start(offset uint64) (uint64, error) {
	switch {
	case !p.known:
		return offset, nil
	case offset > p.at:
		return 0, breach(skipped)
	}
	return p.at, nil
}

func (p *bytesPosition) move(at uint64) { p.at, p.known, p.moved = at, true, true }

// wanted returns the part of the data that still belongs to the selection.
func (p *bytesPosition) wanted(data []byte) []byte {
	switch p.unit {
	case someBytes:
		data = data[:smaller(p.left, uint64(len(data)))]
		p.left -= uint64(len(data))
	case someLines:
		size := 0
		for size < len(data) && p.left > 0 {
			// A carriage return does not end a line of the output.
			end := bytes.IndexByte(data[size:], '\n')
			if end < 0 {
				return data
			}
			size += end + 1
			p.left--
		}
		data = data[:size]
	}
	return data
}

func smaller(a, b uint64) uint64 {
	if a < b {
		return a
	}
	return b
}

func doneOf(raw *pb.OutputDone) OutputDone {
	return OutputDone{
		NextOffset: raw.NextOffset, Total: raw.Total, Complete: raw.Complete, Matches: raw.Matches, More: raw.More,
	}
}
