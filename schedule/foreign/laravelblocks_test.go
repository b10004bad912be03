package foreign_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sched/schedule/crontab"
	"sched/schedule/foreign"
)

// A statement that leaves switches off what comes after it in the same function, and nothing else.
// A task is named on where Laravel schedules it whatever PHP decides, off where PHP decides it.
func TestWhatLeavesEndsItsOwnFunction(t *testing.T) {
	const (
		on  = "\nSchedule::command('on')->daily();\n"
		off = "\nSchedule::command('off')->daily();\n"
	)
	for says, text := range map[string]string{
		"a command of artisan":      "Artisan::command('r', function () { if (! $this->confirm('sure?')) { return 1; } return 0; })->purpose('x');" + on,
		"a filter":                  "Schedule::command('on')->daily()->skip(false)->before(function () { if (x()) { return; } });" + on,
		"a closure as task":         "Schedule::call(function () { if (! foo()) { return; } bar(); })->daily()->name('x');" + on,
		"a closure that is called":  "(function () { if (x()) return; })();" + on,
		"a closure in a closure":    "$f = function () { $g = function () { if (x()) return 1; return 2; }; return $g(); };" + on,
		"a closure with types":      "$f = static function (?int $a = null, array $b = []) use (&$c): ?int { if ($a) { return 1; } return null; };" + on,
		"a throw in a closure":      "app()->booting(function () { if (x()) { throw new E; } abort_if(y(), 403); });" + on,
		"an exit that comes later":  "Schedule::call(function () { if (x()) exit(1); })->daily();" + on,
		"an arrow that throws":      "$f = fn () => x() ? throw new E : abort(403);" + on,
		"an arrow with match":       "$f = fn (int $x): int => match (true) { $x > 1 => 2, default => throw new E };" + on,
		"a value that throws":       "$x = $y ?? throw new E;\n$z = match ($x) { 'a' => '3:00', default => throw new E('return') };" + on,
		"a named function":          "function help() { if (x()) { return 1; } exit; }" + on,
		"a function by reference":   "function &help(): array { return []; }" + on,
		"a name that is a word":     "function abort() { return 1; }\nHttp::get('x')->throw()->throwIf(x());\n$return = $exit = Foo::EXIT;" + on,
		"a class":                   "class A { const EXIT = 1; public function x() { if (y()) { return 1; } throw new E; } }" + on,
		"an anonymous class":        "$a = new class extends A { public function __invoke() { foreach (x() as $y) { return $y; } } };" + on,
		"an enumeration":            "enum A: string { case Exit = 'x'; public function x(): int { return 1; } }" + on,
		"a hook of a property":      "class A { public string $x { get { return 1; } }\n  function schedule(Schedule $schedule) {" + on + "} }",
		"texts":                     "$a = 'if (x) { return; }'; $b = \"function () { return; } return\"; $c = `exit`;" + on,
		"comments":                  "// if (x) { return; }\n# exit;\n/* function ( return; { */" + on,
		"a heredoc":                 "$a = <<<SQL\n  it's \"(\n  if (x) { return; } Schedule::command('off2')->x();\n  SQL;\n$b = <<<'X'\nX;" + on,
		"a loop over numbers":       "for ($i = 0; $i < 2; $i++) {" + off + "}" + on,
		"text that is no statement": "log('for all', function () { x(); });" + on,
		"bootstrap/app.php": "return Application::configure()->withMiddleware(function (Middleware $m) { if (x()) { return; } $m->map(x()); })\n" +
			"->withSchedule(function (Schedule $schedule) {" + on + "if (x()) { return; }" + off + "})\n" +
			"->withExceptions(function ($e) { $e->render(function () { if (x()) return 1; throw new E; }); })->create();",
		"bootstrap/app.php from its end": "return Application::configure()->withExceptions(function ($e) { foreach (x() as $y) { return; } })\n" +
			"->withSchedule(function (Schedule $schedule): void {" + on + "})->create();",
		"Kernel.php": "namespace App\\Console;\nclass Kernel extends Base {\n  protected function boot() { if (x()) { return; } return 1; }\n" +
			"  protected function schedule(Schedule $schedule): void {" + on + "if (! x()) { return; }" + off + "}\n" +
			"  protected function more(Schedule $schedule) {" + on + "}\n}",
		"a filter before a guard": "Schedule::command('on')->daily()->before(function () { return true; });\nif (x()) return;" + off,
		"a return without if":     on + "return;" + off,
		"a throw":                 on + "if (x()) { throw new E; }" + off,
		"a guard of a value":      on + "x() or die('no');" + off,
		"an abort":                on + "abort_unless(x(), 403);" + off,
		"an exit in a closure":    on + "collect(x())->each(function ($y) { if ($y) exit; });" + off,
		"a guard in a loop":       on + "foreach (x() as $y) { while ($y) { if (z()) { return; } } }" + off,
		"a guard in a match":      on + "$x = match (true) { y() => exit(), default => 1 };" + off,
		"a guard in a group": "Schedule::daily()->group(function () {\nSchedule::command('on');\nif (x()) { return; }\n" +
			"Schedule::command('off');\nSchedule::onOneServer()->group(function () { Schedule::command('off'); });\n});" + on,
		"a group behind a guard":     "if (x()) return;\nSchedule::daily()->group(function () { Schedule::command('off'); });",
		"a task in a closure":        "Schedule::call(function () {" + off + "})->daily();" + on,
		"a loop with a closure":      "collect(x())->each(function ($y) {" + off + "});" + on,
		"a method of the same name":  "$x->when(y(), function () {" + off + "});\nRoute::match(['get'], '/', function () { return 1; });" + on,
		"a condition with a closure": "if (array_filter(x(), function ($y) { return $y; })) {" + off + "} else {" + off + "}" + on,
	} {
		kind, _ := foreign.Find("laravel")
		jobs, err := kind.Read("<?php\n"+text, time.UTC)
		if err != nil {
			t.Errorf("%s: %v", says, err)
			continue
		}
		var got, want []string
		for _, j := range jobs {
			if j.Refused != "" {
				continue
			}
			got = append(got, "on")
			if slices.ContainsFunc(j.Keys, func(k crontab.Key) bool { return k.Name == "enabled" }) {
				got[len(got)-1] = "off"
			}
			want = append(want, strings.TrimRight(j.Name, "-0123456789"))
		}
		count := strings.Count(text, "command('on')") + strings.Count(text, "command('off')")
		if !slices.Equal(got, want) || len(got) != count {
			t.Errorf("%s: the tasks are %q, want %q of %d", says, got, want, count)
		}
	}
}

// The text of a heredoc is an argument like others that are not plain.
func TestHeredocsAreNotPlain(t *testing.T) {
	verdicts, _ := imported(t, "laravel", "<?php\nSchedule::exec(<<<'X'\n  a b\n  X)->daily();\nSchedule::command('b')->daily()"+
		"->description(<<<X\n\"\nX\n);\nSchedule::command('c')->daily();\n$x = <<<NEVER\nSchedule::command('d')->daily();\n")
	wantParts(t, "heredocs", verdicts, []string{"task: not taken, because what it runs is no plain text",
		"b: proven until 2054\nnot taken: ->description(<<<X", "c: proven until 2054"})
	if strings.Contains(verdicts, "\nd:") {
		t.Error("a task was read from a heredoc")
	}
}
