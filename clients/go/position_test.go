package airlock

import (
	"bytes"
	"errors"
	"math"
	"math/rand"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "airlock.example/airlock/airlockpb"
)

const (
	stdout = pb.OutputStream_OUTPUT_STREAM_STDOUT
	// A stream of a later version of the contract.
	unknownStream pb.OutputStream = 7
)

func outputOf(offset uint64, data string) *pb.Event {
	return &pb.Event{Event: &pb.Event_Output{Output: &pb.Output{Stream: stdout, Offset: offset, Data: []byte(data)}}}
}

func gapOf(from, to uint64) *pb.Event {
	return &pb.Event{Event: &pb.Event_Gap{Gap: &pb.Gap{Stream: stdout, From: from, To: to}}}
}

func TestKnownBytesAreRemoved(t *testing.T) {
	p := newPosition(0, 0)
	for i, one := range []struct{ event, rest *pb.Event }{
		{outputOf(0, "abc"), outputOf(0, "abc")},
		{outputOf(0, "abc"), nil},
		{outputOf(1, "bcde"), outputOf(3, "de")},
		{gapOf(2, 9), gapOf(5, 9)},
		{gapOf(5, 9), nil},
		{outputOf(4, "eabcd!"), outputOf(9, "!")},
	} {
		isNew, err := p.admit(one.event)
		if err != nil || isNew != (one.rest != nil) || isNew && !proto.Equal(one.event, one.rest) {
			t.Error(i, isNew, err, one.event)
		}
	}
}

func TestSkippedBytesAreABreach(t *testing.T) {
	last := uint64(math.MaxUint64)
	strange := outputOf(0, "x")
	strange.GetOutput().Stream = unknownStream
	for _, event := range []*pb.Event{outputOf(1, "x"), gapOf(1, 2), strange} {
		var breach breach
		if isNew, err := newPosition(0, 0).admit(event); isNew || !errors.As(err, &breach) {
			t.Error(event, isNew, err)
		}
	}
	if _, err := newPosition(last, 0).admit(outputOf(last, "x")); err == nil {
		t.Error("bytes past the largest offset were accepted")
	}
	if isNew, err := positionAfterCursor().admit(outputOf(7, "x")); !isNew || err != nil {
		t.Error("after a cursor, the first offset is not known: ", err)
	}
}

func TestStatesAndHeadersAreReturnedOnce(t *testing.T) {
	p := newPosition(0, 0)
	opened := &pb.Event{Event: &pb.Event_Opened{Opened: &pb.Opened{}}}
	for i, expected := range []bool{true, false} {
		if isNew, err := p.admit(opened); isNew != expected || err != nil {
			t.Error(i, isNew, err)
		}
	}
	for _, one := range []struct {
		version uint64
		link    pb.LinkState
		isNew   bool
	}{{2, 1, true}, {2, 1, false}, {1, 1, false}, {2, 2, true}, {3, 1, true}} {
		change := &pb.StateChanged{Version: one.version, Link: one.link}
		isNew, err := p.admit(&pb.Event{Event: &pb.Event_StateChanged{StateChanged: change}})
		if isNew != one.isNew || err != nil {
			t.Error(one, isNew, err)
		}
	}
	if isNew, err := p.admit(&pb.Event{}); isNew || err != nil {
		t.Error("an event of a later version is ignored: ", isNew, err)
	}
}

func TestAnyCutsReturnTheStreamOnce(t *testing.T) {
	content := []byte(strings.Repeat("0123456789abcdef", 64))
	for seed := int64(0); seed < 50; seed++ {
		rng, p, got := rand.New(rand.NewSource(seed)), newPosition(0, 0), []byte(nil)
		for len(got) < len(content) {
			// A new view may begin at any known byte.
			start := rng.Intn(len(got) + 1)
			event := outputOf(uint64(start), string(content[start:start+rng.Intn(len(content)-start)+1]))
			isNew, err := p.admit(event)
			if err != nil {
				t.Fatal(seed, err)
			}
			if isNew {
				got = append(got, event.GetOutput().Data...)
			}
		}
		if !bytes.Equal(got, content) {
			t.Fatal("seed ", seed)
		}
	}
}

type response = pb.ExecutionServiceReadOutputResponse

func outputPart(offset uint64, data string) *response {
	output := &pb.Output{Stream: stdout, Offset: offset, Data: []byte(data)}
	return &response{Part: &pb.ExecutionServiceReadOutputResponse_Output{Output: output}}
}

func admitted(t *testing.T, p partPosition, part *response) Piece {
	t.Helper()
	piece, err := p.admit(part)
	if err != nil {
		t.Fatal(err)
	}
	return piece
}

func TestAHeadOfLinesThatIsCutContinuesWithTheLinesThatAreLeft(t *testing.T) {
	p := newBytesPosition(Selection{HeadLines: 2})
	if p.request().GetHead().GetLines() != 2 {
		t.Fatal(p.request())
	}
	if piece := admitted(t, p, outputPart(0, "one\ntw")).(OutputBytes); string(piece.Data) != "one\ntw" {
		t.Fatal(piece)
	}
	if p.request().GetRange().GetOffset() != 6 {
		t.Fatal(p.request())
	}
	piece := admitted(t, p, outputPart(6, "o\r\nthree\n")).(OutputBytes)
	if string(piece.Data) != "o\r\n" || piece.Offset != 6 || !p.wantsEnd() {
		t.Fatal(piece)
	}
	if last := p.request().GetRange(); last.Offset != 9 || last.Length != 1 {
		t.Fatal(last)
	}
	if piece := admitted(t, p, outputPart(9, "t")); piece != nil {
		t.Fatal(piece)
	}
	done := &pb.OutputDone{NextOffset: 10, Total: 20}
	end := admitted(t, p, &response{Part: &pb.ExecutionServiceReadOutputResponse_Done{Done: done}})
	if end != (OutputDone{NextOffset: 9, Total: 20}) {
		t.Fatal(end)
	}
}

func TestARangeCountsGaps(t *testing.T) {
	p := newBytesPosition(Selection{Offset: 10, Length: 10})
	gap := &pb.Gap{Stream: stdout, From: 10, To: 15}
	piece := admitted(t, p, &response{Part: &pb.ExecutionServiceReadOutputResponse_Gap{Gap: gap}})
	if piece != (OutputGap{10, 15}) || p.request().GetRange().GetLength() != 5 {
		t.Fatal(piece, p.request())
	}
	bytes := admitted(t, p, outputPart(12, "abcdefghijk")).(OutputBytes)
	if bytes.Offset != 15 || string(bytes.Data) != "defgh" {
		t.Fatal(bytes)
	}
	if _, err := p.admit(outputPart(30, "x")); err == nil {
		t.Fatal("skipped bytes were accepted")
	}
}

func TestASearchThatIsCutReturnsEachLineOnce(t *testing.T) {
	p := &linesPosition{search: Search{Pattern: "x", MaxMatches: 10}}
	part := &pb.OutputLine{Offset: 5, Data: []byte("x"), Number: 2}
	line := &response{Part: &pb.ExecutionServiceReadOutputResponse_Line{Line: part}}
	p.request()
	if piece := admitted(t, p, line).(OutputLine); piece.Offset != 5 || piece.Number != 2 {
		t.Fatal(piece)
	}
	p.cut()
	if p.request().GetSearch().Offset != 0 {
		t.Fatal("it must start from the beginning, so that line numbers stay known")
	}
	if piece := admitted(t, p, line); piece != nil {
		t.Fatal(piece)
	}
	p.cut()
	p.request()
	p.cut()
	// From the last match, which is found again.
	if again := p.request().GetSearch(); again.Offset != 5 || again.MaxMatches != 10 {
		t.Fatal(again)
	}
}
