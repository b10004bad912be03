package notify

import (
	"maps"
	"slices"
	"strconv"

	"sched/schedule"
)

// ToldTwice warns of two notifications of a task that have the same key and the same target: one
// tells what at_most, when or after of the other holds back, or each message comes twice. Tasks
// that inherit both notifications get one warning together.
func ToldTwice(s *schedule.Schedule) (warnings []schedule.Problem) {
	for t := range s.ActiveTasks() {
		var earlier []keyedHook
		nth := map[string]int{} // how many hooks of a key came before
		for key, hook := range t.Hooks.All() {
			this := keyedHook{key, key + "." + strconv.Itoa(nth[key]), hook}
			nth[key]++
			i := slices.IndexFunc(earlier, this.tellsLike)
			if i >= 0 {
				w := this.warning(t, earlier[i])
				isKnown := func(other schedule.Problem) bool { return other.Place == w.Place && other.Text == w.Text }
				if !slices.ContainsFunc(warnings, isKnown) {
					warnings = append(warnings, w)
				}
			}
			earlier = append(earlier, this)
		}
	}
	return warnings
}

// A keyedHook is a hook with its key, and with the key of its origin.
type keyedHook struct {
	key, origin string
	schedule.Hook
}

// tellsLike reports whether an earlier hook of the same key has the same target, and one of the two
// tells whatever the other tells.
func (h keyedHook) tellsLike(earlier keyedHook) bool {
	a, b := h.Notify, earlier.Notify
	if h.key != earlier.key || a == nil || b == nil || a.On != nil || b.On != nil || !sameTarget(a, b) {
		return false
	}
	return h.isUnlimited() || earlier.isUnlimited() || a.When == b.When && h.from() == earlier.from()
}

func (h keyedHook) isUnlimited() bool {
	return h.Notify.When == "" && h.from() == 1 && h.Notify.AtMost == schedule.Limit{}
}

// from returns the number of failures in a row from which on the hook fires.
func (h keyedHook) from() int { return max(1, h.After) }

// limit names a key that holds messages of the hook back; "" for none.
func (h keyedHook) limit() string {
	switch {
	case h.Notify.AtMost != schedule.Limit{}:
		return "at_most"
	case h.Notify.When != "":
		return "when: " + string(h.Notify.When)
	case h.from() > 1:
		return "after: " + strconv.Itoa(h.After)
	}
	return ""
}

// warning says what two hooks of a task, of which this one is the later, tell twice.
func (h keyedHook) warning(t *schedule.Task, earlier keyedHook) schedule.Problem {
	to := *h.Notify
	to.Mail = shared(h.Notify, earlier.Notify)
	target := Target(to).String()
	hint := "remove one of the two"
	if t.Origins[earlier.origin].Section != t.Origins[h.origin].Section {
		hint = "hooks add up: `false` first in the list of " + h.key + " takes the inherited ones away"
	}
	limited, free := h, earlier
	if limited.limit() == "" {
		limited, free = earlier, h
	}
	if limited.limit() != "" && free.isUnlimited() {
		return t.Problem(h.origin, hint,
			"%s: %s of %s holds nothing back: another hook tells the same target of everything",
			h.key, limited.limit(), target)
	}
	return t.Problem(h.origin, hint, "%s: two hooks have the target %s, so each message comes twice", h.key, target)
}

// sameTarget reports whether two notifications go to the same URL, to the same service with the
// same values, or to a shared address.
func sameTarget(a, b *schedule.Notification) bool {
	switch {
	case a.Preset != nil && b.Preset != nil:
		return a.Preset.Name == b.Preset.Name && maps.Equal(a.Preset.With, b.Preset.With)
	case a.Ping+a.Webhook == "":
		return len(shared(a, b)) > 0
	}
	return a.Ping == b.Ping && a.Webhook == b.Webhook
}

// shared returns the addresses that get the mails of both notifications.
func shared(a, b *schedule.Notification) (addresses []string) {
	for _, address := range a.Mail {
		if slices.Contains(b.Mail, address) {
			addresses = append(addresses, address)
		}
	}
	return addresses
}
