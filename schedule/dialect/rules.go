package dialect

import (
	"strings"

	"sched/schedule/humanize"
)

// rules are what one program makes of an expression, as data. The zero value of each rule is the
// stricter one.
type rules struct {
	layouts  []string                     // the letters of kinds that an expression has
	macros   map[string]string            // in lower case: an expression, atStart, or "" for no time
	every    bool                         // @every 1h30m is known
	zones    []string                     // what stands before a zone at the beginning: "TZ=", "CRON_TZ="
	exact    bool                         // macros are known in lower case alone
	zoneLast bool                         // a zone may stand behind the fields
	inUTC    bool                         // its times are meant in UTC unless a zone is given
	onlyUTC  bool                         // no zone can be given: its times are meant in UTC
	calendar bool                         // it has no fields: it reads calendar expressions of systemd
	read     func(string) (string, error) // reads what stands around the fields; nil: nothing does
	extra    bool                         // fields behind the last one are left out

	// fields
	weekdays     [2]int   // the first and the last number of a weekday
	sunday       int      // the number of Sunday: 0 or 1; -1: Monday is 0 and Sunday 6
	sundayEnds   bool     // FRI-SUN and 5-0 run through Sunday
	sundayName   bool     // sundayEnds is for names alone
	sunSeven     bool     // SUN is 7, which no weekday is in a range of names; and 7-2 is 0-2
	zeroAtOnce   bool     // 7 is 0 at once, so that 5-7 runs backwards
	saturday     bool     // L alone in the weekday is Saturday
	naming       names    // of months and weekdays
	looseNames   bool     // what follows a name, or a range of names, is left out
	question     string   // the fields that may have a ?, which is * to them
	oneQuestion  bool     // exactly one of the day fields must be ?
	forms        string   // the forms of days that are known: L L-3 LW L-3W 15W 5L 5#2 5#L
	formsAlone   bool     // L, W and # do not stand in a list
	aliases      []string // pairs of a word in the place of a field, and what it stands for
	backward     backward // 22-2
	lone         lone     // 5/15
	steps        steps    // */90
	bareStep     bool     // /5 is */5
	starRange    bool     // *-5 is *
	starMonday   bool     // * begins with Monday, so */2 is Monday, Wednesday, Friday and Sunday
	dayZero      bool     // * begins with the day 0, so */2 has the even days
	hour24       bool     // hour 24 is 0
	signs        bool     // +5 is 5
	digits       int      // how many a number has at most; 0: any
	empty        bool     // 1,,2 is 1,2
	loose        bool     // what follows a number, a range or a step in a field is left out
	looseStar    bool     // the same behind a * without a step
	hash         bool     // H is known
	realDates    bool     // a date that no year has is refused
	plus         bool     // a + before the weekday means that both day fields must match
	either       bool     // two restricted day fields: one of them is enough
	free         free     // which day fields restrict nothing
	wholeWeekday bool     // of the weekday, only * alone restricts nothing

	// the search for the next time
	fixed, stars clockRule // at changes of the clocks, without and with a star in minute or hour
	singles      bool      // fixed is for single values alone, and stars for all else
	bySteps      bool      // it adds days, hours and minutes to a time until all fields match
	aligned      bool      // bySteps goes to the beginning of units, and skips a time that comes twice in a row
	byFields     bool      // it goes from the year to the second, and adds times of the wall as if they had passed
	years        int       // how far ahead the program looks; 0: as far as there are dates
}

// names says which names of months and weekdays are known, in any case.
type names int

const (
	threeLetters names = iota
	noNames
	alsoWhole // january, too
)

// backward says what a range means whose end is before its beginning.
type backward int

const (
	refuseBackward backward = iota
	wrapBackward
	emptyBackward
)

// lone says what a step behind a single value means.
type lone int

const (
	refuseLone  lone = iota
	toEnd            // 5/15 is 5-59/15
	onlyValue        // 5/15 is 5
	toEndOfMore      // toEnd, but onlyValue for a weekday and for a step of 1
)

// steps says which steps are read.
type steps int

const (
	upToEnd  steps = iota // at most the last value of the field
	anyStep               // a longer one leaves the first value
	upToLast              // the same, and 7 is no last weekday
	upToSize              // at most as many as the field has values
	wrapStep              // a longer one than the last value is its remainder: */90 is minute 30
	inRange               // at most as long as the range
)

// free says which day fields restrict nothing, so that the other decides alone.
type free int

const (
	freeWhole free = iota // * or ? alone
	freeBegin             // what begins with *
	freePart              // what has * or ? in one of its elements
	freeByOne             // the same, also with a step of 1
	freeFull              // what has each value
)

// The years that a field can name. Searches end with the last one.
const firstYear, lastYear = 1970, 2199

// A kind is the grammar of one field.
type kind struct {
	letter    byte
	name      string
	low, high int
	names     []string // of low, low+1, …
}

var kinds = [...]kind{
	{'s', "second", 0, 59, nil},
	{'m', "minute", 0, 59, nil},
	{'h', "hour", 0, 23, nil},
	{'d', "day", 1, 31, nil},
	{'M', "month", 1, 12, []string{
		"january", "february", "march", "april", "may", "june", "july",
		"august", "september", "october", "november", "december",
	}},
	{'w', "weekday", 0, 6, []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}},
	{'y', "year", firstYear, lastYear, nil},
}

// kindOf returns the grammar of a field in this dialect.
func (r *rules) kindOf(letter byte) kind {
	k := kinds[indexOf(letter)]
	if letter == 'w' {
		k.low, k.high = r.weekdays[0], r.weekdays[1]
	}
	if letter == 'd' && r.dayZero {
		k.low = 0
	}
	return k
}

// indexOf returns the place of a letter in kinds.
func indexOf(letter byte) int { return strings.IndexByte("smhdMwy", letter) }

// weekday returns the weekday, from Sunday as 0, that a number stands for.
func (r *rules) weekday(n int) int { return (n - r.sunday + 7) % 7 }

// full returns all values of the kind, a bit for each; weekdays from Sunday as 0.
func (k kind) full() (values uint64) {
	if k.letter == 'w' {
		return 1<<7 - 1
	}
	for v := k.low; v <= k.high; v++ {
		values |= 1 << v
	}
	return values
}

// last returns the last value; 7 is Sunday again.
func (k kind) last() int {
	if k.letter == 'w' {
		return min(k.high, k.low+6)
	}
	return k.high
}

// looseField is what Vixie cron reads of a field.
var looseField = humanize.Pattern(`^(?:(?:\*|\w+(?:-\w+)?)(?:/\w+)?,)*(?:\*|\w+(?:-\w+)?)(?:/\w+)?`)
