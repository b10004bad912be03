package serve

import (
	"context"
	"errors"

	"sched/schedule/proposal"
	"sched/schedule/statedir"
	"sched/schedule/view"
)

// This file has the routes about proposals. Only callers who may approve see the keys of proposed
// tasks, because secrets may be in the keys that they replace.

func getProposals(r *Visit) (any, error) {
	all, err := Proposals(r)
	return pageOf(all, cursor{}), err
}

// Proposals returns the proposals that wait, the oldest first, without their keys.
func Proposals(r *Visit) ([]proposal.Proposal, error) {
	all, err := proposal.All(r.Schedule.StateDir, r.server.Now())
	for i := range all {
		all[i].Keys, all[i].Old, all[i].Tag = "", "", ""
	}
	return all, err
}

func getProposal(r *Visit) (any, error) { return ReviewProposal(r, r.PathValue("id")) }

func postApprove(r *Visit, body Reason) (any, error) {
	return Approve(r, r.PathValue("id"), body.Reason)
}

func postReject(r *Visit, body Reason) (any, error) {
	return Reject(r, r.PathValue("id"), body.Reason)
}

// ReviewProposal reviews the proposal with an id, for a visitor who may approve.
func ReviewProposal(r *Visit, id string) (review Review, err error) {
	err = atDesk(r, id, NewDesk, func(d Desk, p proposal.Proposal) error {
		review, err = d.Review(r.Context(), p)
		return err
	})
	return review, err
}

// Approve writes the task of the proposal with an id, for a visitor who may approve. It goes on
// when the visitor leaves.
func Approve(r *Visit, id, reason string) (approved proposal.Proposal, err error) {
	err = atDesk(r, id, NewDesk, func(d Desk, p proposal.Proposal) error {
		review, err := d.Approve(context.WithoutCancel(r.Context()), id, reason)
		r.server.current.forget()
		approved = review.Proposal
		return err
	})
	return approved, err
}

// Reject forgets the proposal with an id, for a visitor who may approve.
func Reject(r *Visit, id, reason string) (rejected proposal.Proposal, err error) {
	err = atDesk(r, id, DeskToReject, func(d Desk, p proposal.Proposal) error {
		rejected, err = d.Reject(id, reason)
		return err
	})
	return rejected, err
}

// atDesk calls do with a desk and the proposal that has this whole id. A proposal that is wrong is
// a conflict, because the request is right.
func atDesk(r *Visit, id string, open OpenDesk, do func(Desk, proposal.Proposal) error) error {
	if err := r.Who.needs(ScopeApprove); err != nil {
		return err
	}
	p, err := proposal.Find(r.Schedule.StateDir, id, r.server.Now())
	if err == nil && p.ID != id {
		err = notFound("write its whole id", "no proposal has the id %q", Shortened(id))
	}
	var d Desk
	if err == nil {
		d, err = open(r.server.Config, r.Schedule, r.Who)
	}
	if err == nil {
		err = do(d, p)
	}
	wrong, is := errors.AsType[*view.Error](err)
	switch {
	case is && wrong.Kind == view.Invalid:
		return conflict(wrong.Hint, "%v", err)
	case errors.Is(err, statedir.ErrLocked):
		return tryAgain(1, "try again", "somebody else is deciding about a proposal")
	}
	return err
}
