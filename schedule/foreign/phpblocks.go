package foreign

import (
	"slices"
	"strings"

	"sched/schedule/humanize"
)

var (
	phpEnd       = humanize.Pattern(`(?i)\bend(if|for|foreach|while|switch)\b`)
	phpNameAhead = humanize.Pattern(`^\s*&?\s*[A-Za-z_]`)
)

// Words that decide whether the code behind them runs, or how often. The methods of the last four
// take the code as a function.
const phpIf = " if else elseif for foreach while do switch match try catch when unless each map "

// Words with which code leaves the function around it, or ends PHP.
const (
	phpLeave = " return throw abort abort_if abort_unless exit die "
	phpExit  = " exit die "
)

// isWord reports whether a word is in such a list.
func isWord(word, list string) bool { return strings.Contains(list, " "+strings.ToLower(word)+" ") }

// A phpFrame is what is open around a place in PHP: the file, or a bracket.
type phpFrame struct {
	bracket byte // 0 for the file
	body    byte // 'f' for a function with a name, 'c' for one without, 'k' for a class, 0 for others
	begin   int  // where its last statement begins; known for braces and the file

	isConditional bool // a brace that belongs to if, foreach and the like
	leaves        bool // a statement of this function may have left it

	// These are about its last statement, without what stands in further brackets.
	hasIf     bool
	hasArrow  bool // fn () =>, whose body reaches to the next comma
	next      byte // the body of the next brace; 'n' before the name of a function
	wantLeave bool // it leaves the function when it ends
	wantExit  bool // it ends PHP when it ends
}

// isBlock reports whether statements stand in it.
func (f *phpFrame) isBlock() bool { return f.bracket == '{' || f.bracket == 0 }

// phpBlocks are the blocks around a place in PHP.
type phpBlocks struct {
	code          string // without comments and texts
	isAlternative bool   // some blocks have no braces
	at            int    // what was read
	frames        []phpFrame
	later         int // the end of a chain whose functions run later: they end nothing here

	bodies map[int]bool // of functions: the places of braces, and whether they are conditional
}

func newPHPBlocks(code string) *phpBlocks {
	return &phpBlocks{code: code, isAlternative: phpEnd().MatchString(code), frames: make([]phpFrame, 1),
		bodies: map[int]bool{}}
}

// read reads on, and reports whether the statement that begins there depends on others. The text
// before floor is no part of the statement.
func (b *phpBlocks) read(to, floor int) (isConditional bool) {
	for b.at < to {
		c := b.code[b.at]
		top := &b.frames[len(b.frames)-1]
		switch {
		case isWordByte(c):
			begin := b.at
			for b.at < to && isWordByte(b.code[b.at]) {
				b.at++
			}
			b.readWord(begin)
			continue
		case strings.IndexByte("([{", c) >= 0:
			b.open(c)
		case strings.IndexByte(")]}", c) >= 0:
			b.close()
		case c == ',':
			top.hasArrow = false
		case c == ';' && top.isBlock():
			b.endStatement(b.at + 1)
		}
		b.at++
	}
	begin := b.frames[b.block()].begin
	before := strings.TrimSpace(b.code[max(min(begin, to), floor):to])
	before = strings.TrimSpace(strings.TrimPrefix(before, "<?php"))
	return b.isInside() || b.isAlternative || to < b.later || before != ""
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// block returns the innermost frame in which statements stand.
func (b *phpBlocks) block() int {
	i := len(b.frames) - 1
	for !b.frames[i].isBlock() {
		i--
	}
	return i
}

// isInside reports whether a condition belongs to what is open, or may have left it.
func (b *phpBlocks) isInside() bool {
	return slices.ContainsFunc(b.frames, func(f phpFrame) bool { return f.isConditional || f.leaves })
}

// open opens a bracket. A brace is conditional if its statement has a condition, be it before
// brackets that are still open.
func (b *phpBlocks) open(c byte) {
	top := &b.frames[len(b.frames)-1]
	f := phpFrame{bracket: c, begin: b.at + 1}
	if c == '{' {
		if f.body, top.next = top.next, 0; f.body == 0 && top.body == 'k' {
			f.body = 'f' // the hooks of a property
		}
		isConditional, isKnown := b.bodies[b.at]
		hasIf := func(f phpFrame) bool { return f.hasIf }
		f.isConditional = isConditional || !isKnown && slices.ContainsFunc(b.frames[b.block():], hasIf)
	}
	b.frames = append(b.frames, f)
}

// close closes a bracket. A brace directly in a block ends a statement.
func (b *phpBlocks) close() {
	if last := len(b.frames) - 1; last > 0 {
		isBrace := b.frames[last].isBlock()
		if isBrace {
			b.endStatement(b.at)
		}
		b.frames = b.frames[:last]
		if isBrace && b.frames[last-1].isBlock() {
			b.endStatement(b.at + 1)
		}
	}
}

// endStatement ends the statement of the innermost block. If it may leave, the innermost function
// is left; if it may end PHP, so are all functions up to the first that has a name.
func (b *phpBlocks) endStatement(next int) {
	last := &b.frames[len(b.frames)-1]
	wantLeave, wantExit := last.wantLeave, last.wantExit
	*last = phpFrame{bracket: last.bracket, body: last.body, begin: next, isConditional: last.isConditional,
		leaves: last.leaves}
	for i := len(b.frames) - 1; i >= 0 && (wantLeave || wantExit); i-- {
		if f := &b.frames[i]; f.body != 0 || f.bracket == 0 {
			f.leaves = true
			wantLeave, wantExit = false, wantExit && f.body == 'c'
		}
	}
}

// readWord reads the word that was read last.
func (b *phpBlocks) readWord(begin int) {
	top := &b.frames[len(b.frames)-1]
	word := b.code[begin:b.at]
	before := strings.TrimRight(b.code[:begin], " \t\r\n")
	isMember := strings.HasSuffix(before, "->") || strings.HasSuffix(before, "::")
	switch {
	case top.next == 'n': // the name of a function
		top.next = 'f'
	case strings.HasSuffix(before, "$"):
	case isMember && !isWord(word, " when unless each map "):
	case isWord(word, phpIf):
		top.hasIf = true
	case isWord(word, phpLeave):
		b.leave(word, before)
	case isWord(word, " function ") && phpNameAhead().MatchString(b.code[b.at:min(len(b.code), b.at+64)]):
		top.next = 'n'
	case isWord(word, " function "):
		top.next = 'c'
	case isWord(word, " fn "):
		top.hasArrow = true
	case isWord(word, " class trait interface enum ") && top.next == 0:
		top.next = 'k'
	}
}

// leave notes a word that leaves. It means the innermost function. In an arrow function only the
// end of PHP counts, and throw is an assertion where it stands for a value.
func (b *phpBlocks) leave(word, before string) {
	isExit := isWord(word, phpExit)
	isValue := isWord(word, " throw ") && before != "" && strings.IndexByte(">?|&=(,", before[len(before)-1]) >= 0
	isArrow := false
	for i := len(b.frames) - 1; i >= 0; i-- {
		if isArrow = isArrow || b.frames[i].hasArrow; isArrow || b.frames[i].body != 0 {
			break
		}
	}
	switch f := &b.frames[b.block()]; {
	case b.at <= b.later, f.body == 'k', isValue:
	case isExit:
		f.wantLeave, f.wantExit = true, true
	case !isArrow:
		f.wantLeave = true
	}
}
