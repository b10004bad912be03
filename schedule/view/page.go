package view

import (
	"context"
	"slices"

	"sched/schedule/history"
	"sched/schedule/outcome"
)

// MostOfAPage is the most records of one page.
const MostOfAPage = 1000

// Page returns the records that the query covers, the newest slot first, and from where the next page goes on: the zero Position where
// there are no more. Its cost does not depend on the length of the history, nor on how far back the page is. The query has a Limit of
// at least 1 and at most MostOfAPage.
func (s Source) Page(ctx context.Context, q history.Query) (page []outcome.Record, next history.Position, err error) {
	all, err := s.Records(ctx)
	if err != nil {
		return nil, next, err
	}
	defer all.Close()
	limit := q.Limit
	q.Limit++ // whether there is a next page
	page, err = all.Find(ctx, q)
	if err == nil && len(page) > limit {
		page = slices.Clip(page[:limit])
		next = history.PositionOf(page[limit-1])
	}
	return page, next, err
}
