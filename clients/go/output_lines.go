package airlock

import (
	pb "airlock.example/airlock/airlockpb"
)

const (
	// The number of consecutive views without new lines after which line numbers are no longer returned.
	vainViews      = 2
	matchesDefault = 1000
)

// linesPosition is the position of a reader in a search. A search that was cut is requested again from its beginning, and
// known lines are skipped, so line numbers stay known. If connections break too early for progress, it continues from the
// last match, without line numbers.
type linesPosition struct {
	search Search
	// The offsets of the last line and of the last match, if there are any.
	lastLine, lastMatch *uint64
	matches             uint64
	// The number of matches before those of the open view.
	beforeView uint64
	gapTo      uint64
	brought    bool
	vain       int
}

func (p *linesPosition) request() *pb.ExecutionServiceReadOutputRequest {
	s := p.search
	p.brought, p.beforeView = false, 0
	search := &pb.OutputSearch{
		Pattern: s.Pattern, Fixed: s.Fixed, IgnoreCase: s.IgnoreCase, Invert: s.Invert, Before: s.Before, After: s.After,
		MaxMatches: s.MaxMatches, Offset: s.Offset,
	}
	if p.vain >= vainViews && p.lastMatch != nil {
		// It starts at the last match, which is found again, so that the context after it is shown.
		p.beforeView = p.matches - 1
		most := uint64(s.MaxMatches)
		if most == 0 {
			most = matchesDefault
		}
		search.MaxMatches = uint32(larger(1, most-smaller(most, p.beforeView)))
		search.Offset = *p.lastMatch
	}
	return &pb.ExecutionServiceReadOutputRequest{Selection: &pb.ExecutionServiceReadOutputRequest_Search{Search: search}}
}

func (p *linesPosition) cut() {
	switch {
	case p.vain >= vainViews:
	case p.brought:
		p.vain = 0
	default:
		p.vain++
	}
}

func (p *linesPosition) wantsEnd() bool { return false }

func (p *linesPosition) admit(response *pb.ExecutionServiceReadOutputResponse) (Piece, error) {
	switch part := response.Part.(type) {
	case *pb.ExecutionServiceReadOutputResponse_Done:
		done := doneOf(part.Done)
		done.Matches += p.beforeView
		return done, nil
	case *pb.ExecutionServiceReadOutputResponse_Gap:
		start := larger(part.Gap.From, p.gapTo)
		p.gapTo = larger(p.gapTo, part.Gap.To)
		if part.Gap.To > start {
			return OutputGap{start, part.Gap.To}, nil
		}
	case *pb.ExecutionServiceReadOutputResponse_Line:
		line := part.Line
		if p.lastLine != nil && line.Offset <= *p.lastLine {
			return nil, nil
		}
		p.brought, p.lastLine = true, &line.Offset
		if !line.Context {
			p.lastMatch = &line.Offset
			p.matches++
		}
		return OutputLine{line.Offset, line.Data, line.Number, line.Context, line.Truncated}, nil
	case *pb.ExecutionServiceReadOutputResponse_Output:
		return nil, breach("it sent bytes where lines were requested")
	}
	return nil, nil
}
