package web

import (
	"fmt"
	"net/http"
	"net/url"

	"sched/schedule/proposal"
	"sched/schedule/serve"
)

// This file is the pages of what agents and people propose: the list, and one proposal with its
// review and the forms that approve and reject it. The forms are the routes of the API.

// A proposalsPage is the list of the proposals that wait.
type proposalsPage struct {
	*page
	All []proposal.Proposal
}

func readProposals(p *page) (made proposalsPage, err error) {
	p.title = "Proposals"
	made.page = p
	made.All, err = serve.Proposals(p.Visit)
	return made, err
}

// A proposalPage is one proposal. If it cannot be reviewed, Problem says why, and it can still be
// rejected.
type proposalPage struct {
	*page
	serve.Review
	Problem    *serve.Problem
	Difference []changedLine
	NextTimes  []moment
}

func readProposal(p *page) (made proposalPage, err error) {
	p.IsStatic = true // the reason is being written
	made.page = p
	id := p.request.PathValue("id")
	all, err := serve.Proposals(p.Visit)
	if err != nil {
		return made, err
	}
	review, err := serve.ReviewProposal(p.Visit, id)
	if err != nil {
		made.Problem = serve.ProblemOf(err)
		if made.Problem.Status != http.StatusConflict {
			return made, err
		}
		for _, one := range all {
			if one.ID == id {
				review.Proposal = one
			}
		}
	}
	made.Review = review
	p.title = "Proposal for " + review.Task
	made.Difference = changedLines(review.Diff)
	for _, at := range review.Next {
		made.NextTimes = append(made.NextTimes, p.Exact(at.Time, review.Task))
	}
	return made, nil
}

// Starts says how many runs the next 7 days have with the task, and without it.
func (p proposalPage) Starts() string {
	return fmt.Sprintf("%d starts for %d, %.0f runs at once for %.0f",
		p.After.Starts, p.Before.Starts, p.After.Runs.Most, p.Before.Runs.Most)
}

// proposalForms returns what the forms that decide about proposals do, by their paths.
func proposalForms() map[string]sender {
	approve := action{scope: serve.ScopeApprove, work: serve.Forecasting,
		perform: func(v *serve.Visit, id string) (string, error) {
			approved, err := serve.Approve(v, id, v.PostFormValue("reason"))
			return "/tasks/" + url.PathEscape(approved.Task), err
		}}
	reject := action{scope: serve.ScopeApprove, perform: func(v *serve.Visit, id string) (string, error) {
		_, err := serve.Reject(v, id, v.PostFormValue("reason"))
		return "/proposals", err
	}}
	return map[string]sender{"/proposals/{id}/approve": senderOf(approve), "/proposals/{id}/reject": senderOf(reject)}
}
