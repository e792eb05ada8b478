package airlock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc/codes"

	pb "airlock.example/airlock/airlockpb"
)

const pendingApproval = "pending_approval"

// approvalPoll is the time between two looks at an approval of a connection.
const approvalPoll = 500 * time.Millisecond

var allApprovals = []pb.ApprovalState{
	pb.ApprovalState_APPROVAL_STATE_OPEN, pb.ApprovalState_APPROVAL_STATE_ALLOWED,
	pb.ApprovalState_APPROVAL_STATE_DENIED, pb.ApprovalState_APPROVAL_STATE_EXPIRED,
	pb.ApprovalState_APPROVAL_STATE_WITHDRAWN,
}

// Approvals are the approvals of the caller's tenant. To answer one, the caller needs the role `approver`.
type Approvals struct{ connection *connection }

// Scope is where the rules of an answer apply.
type Scope string

// The scopes of remembered rules.
const (
	ScopeSession Scope = "session"
	ScopeTenant  Scope = "tenant"
)

// List returns the open approvals of a session, or of the tenant for an empty ID, oldest first.
func (a *Approvals) List(ctx context.Context, sessionID string) ([]Approval, error) {
	return a.list(ctx, &pb.ApprovalFilter{SessionId: sessionID})
}

// ListAll returns the open and the answered approvals of a session, or of the tenant for an empty ID, oldest first.
func (a *Approvals) ListAll(ctx context.Context, sessionID string) ([]Approval, error) {
	return a.list(ctx, &pb.ApprovalFilter{SessionId: sessionID, States: allApprovals})
}

func (a *Approvals) list(ctx context.Context, filter *pb.ApprovalFilter) ([]Approval, error) {
	var all []Approval
	request := &pb.ApprovalServiceListRequest{Filter: filter, Page: &pb.PageRequest{}}
	for {
		answer, err := a.connection.approvals(callTimeout).List(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, one := range answer.Approvals {
			all = append(all, approvalOf(one))
		}
		if request.Page.PageToken = answer.NextPageToken; answer.NextPageToken == "" {
			return all, nil
		}
	}
}

// Show returns one approval. The error is KindNotFound if there is none with this ID.
func (a *Approvals) Show(ctx context.Context, id string) (Approval, error) {
	all, err := a.ListAll(ctx, "")
	if err != nil {
		return Approval{}, err
	}
	for _, one := range all {
		if one.ID == id {
			return one, nil
		}
	}
	made := newError(KindNotFound, fmt.Sprintf("there is no approval `%s`", id))
	made.Code, made.Reason = codes.NotFound, "NOT_FOUND"
	return Approval{}, made
}

// Allow allows the command once, as it was shown.
func (a *Approvals) Allow(ctx context.Context, approval Approval) (Approval, error) {
	return a.decide(ctx, approval, &pb.ApprovalServiceDecideRequest{
		Answer: &pb.ApprovalServiceDecideRequest_AllowOnce_{AllowOnce: &pb.ApprovalServiceDecideRequest_AllowOnce{}},
	})
}

// AllowAndRemember allows the command as it was shown, and adds rules for later commands: the given ones, or those that
// the decision suggests.
func (a *Approvals) AllowAndRemember(
	ctx context.Context, approval Approval, scope Scope, rules ...string,
) (Approval, error) {
	number, err := chosen("scope", "RULE_SCOPE_", pb.RuleScope(0), []string{"session", "tenant"}, string(scope))
	if err != nil {
		return Approval{}, err
	}
	answer := &pb.ApprovalServiceDecideRequest_AllowAndRemember{Scope: pb.RuleScope(number), Rules: rules}
	return a.decide(ctx, approval, &pb.ApprovalServiceDecideRequest{
		Answer: &pb.ApprovalServiceDecideRequest_AllowAndRemember_{AllowAndRemember: answer},
	})
}

// Deny denies the command. The agent sees the reason.
func (a *Approvals) Deny(ctx context.Context, approval Approval, reason string) (Approval, error) {
	answer := &pb.ApprovalServiceDecideRequest_Deny{Reason: reason}
	return a.decide(ctx, approval, &pb.ApprovalServiceDecideRequest{
		Answer: &pb.ApprovalServiceDecideRequest_Deny_{Deny: answer},
	})
}

func (a *Approvals) decide(
	ctx context.Context, shown Approval, request *pb.ApprovalServiceDecideRequest,
) (Approval, error) {
	request.ApprovalId, request.Binding = shown.ID, shown.Binding
	answer, err := a.connection.approvals(callTimeout).Decide(ctx, request)
	if err != nil {
		return Approval{}, err
	}
	return approvalOf(answer.GetApproval()), nil
}

// Wait waits until the approval is no longer open, and returns it.
func (a *Approvals) Wait(ctx context.Context, approval Approval) (Approval, error) {
	if approval.Connection != "" {
		return a.waitForConnection(ctx, approval)
	}
	events := newEvents(ctx, a.connection, nil, approval.ExecutionID, From{})
	defer events.Close()
	for {
		event, err := events.Next()
		if errors.Is(err, io.EOF) {
			return a.Show(ctx, approval.ID)
		}
		if err != nil {
			return Approval{}, err
		}
		waits := true
		switch now := event.(type) {
		case Opened:
			waits = now.Execution.State == pendingApproval && now.Execution.ApprovalID == approval.ID
		case StateChanged:
			// The history begins with the states before the question.
			waits = now.State == pendingApproval && now.ApprovalID == approval.ID
		}
		if waits {
			continue
		}
		if now, err := a.Show(ctx, approval.ID); err != nil || now.State != "open" {
			return now, err
		}
	}
}

// waitForConnection looks at the approval until it is answered. The command runs on, so no event follows the answer.
func (a *Approvals) waitForConnection(ctx context.Context, approval Approval) (Approval, error) {
	for {
		now, err := a.Show(ctx, approval.ID)
		if err != nil || now.State != "open" {
			return now, err
		}
		select {
		case <-ctx.Done():
			return now, stopped(ctx)
		case <-time.After(approvalPoll):
		}
	}
}
