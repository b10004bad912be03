package crontab

import (
	"cmp"
	"fmt"
	"strings"

	"sched/schedule/cron"
	"sched/schedule/crontab/vixie"
	"sched/schedule/humanize"
)

// timesProblem returns what is wrong with times that neither sched nor any cron can read, not even
// in part. For other times the problem is "".
func timesProblem(when string) (problem, hint string) {
	if strings.Contains(when, "_") && when[0] != '@' {
		return fmt.Sprintf("%q has _, which is no value of a field", when),
			`write * for _: formatters of Markdown turn "* *" into "_ _"`
	}
	if _, _, err := vixie.ParseStart(when); err == nil || isTimes(when) {
		return "", ""
	}
	_, err := cron.Parse(randomToH(when), "")
	if cronError, ok := err.(*cron.Error); ok {
		hint = cronError.Hint
	}
	return fmt.Sprintf("%q: %v", when, err), hint
}

// isTimes reports whether a cron or sched takes the whole of the times.
func isTimes(when string) bool {
	_, notVixie := vixie.Parse(when)
	_, err := cron.Parse(randomToH(when), "")
	return notVixie == nil || err == nil || when == "@reboot" || when == NicknameEveryMinute
}

// NicknameEveryMinute is a nickname that only FreeBSD's cron knows.
const NicknameEveryMinute = "@every_minute"

// randomToH writes the random ~ of OpenBSD and cronie as H.
func randomToH(when string) string {
	words := strings.Fields(when)
	for i, word := range words {
		words[i] = tilde().ReplaceAllStringFunc(word, func(found string) string {
			low, high, _ := strings.Cut(found, "~")
			if low == "" && high == "" {
				return "H"
			}
			if i < len(fieldTops) {
				low, high = cmp.Or(low, fieldLows[i]), cmp.Or(high, fieldTops[i])
			}
			return "H(" + low + "-" + high + ")"
		})
	}
	return strings.Join(words, " ")
}

var (
	tilde     = humanize.Pattern(`(\d+)?~(\d+)?`)
	fieldLows = []string{"0", "0", "1", "1", "0"}
	fieldTops = []string{"59", "23", "28", "12", "6"} // each month has a day 28
)
