package foreign

import (
	"io/fs"
	"path"
	"regexp"
	"strings"

	"sched/schedule/humanize"
)

// A laravelApp is the folder with artisan; nil if it is not known. Only its configuration, one
// variable of .env, and the classes of commands are read.
type laravelApp struct{ folder fs.FS }

// text returns a file; "" if it is not there or not one that we read.
func (app laravelApp) text(name string) string {
	if app.folder == nil || !fs.ValidPath(name) {
		return ""
	}
	info, err := fs.Stat(app.folder, name)
	if err != nil || info.Size() > maxPHP || !info.Mode().IsRegular() {
		return ""
	}
	content, _ := fs.ReadFile(app.folder, name)
	return string(content)
}

var phpSetting = humanize.Pattern(`['"](schedule_timezone|timezone)['"]\s*=>\s*` +
	`(?:(['"][^'"\\$]*['"])|env\(\s*['"](\w+)['"]\s*(?:,\s*(['"][^'"\\$]*['"])\s*,?\s*)?\))\s*[,\]]`)

// zone returns the zone of tasks that name none, and says from where it is.
func (app laravelApp) zone() (name, source string) {
	const file = "config/app.php"
	config := withoutComments(app.text(file))
	for _, key := range []string{"schedule_timezone", "timezone"} {
		isThere := strings.Contains(config, "'"+key+"'") || strings.Contains(config, `"`+key+`"`)
		for _, found := range phpSetting().FindAllStringSubmatch(config, -1) {
			literal, variable := strings.Trim(found[2], `'"`), found[3]
			switch {
			case found[1] != key:
			case variable == "" && literal != "":
				return literal, "the zone is " + literal + ": " + key + " of " + file
			case app.variable(variable) != "":
				return app.variable(variable), "the zone is " + app.variable(variable) + ": " + variable + " of .env"
			case strings.Trim(found[4], `'"`) != "":
				literal = strings.Trim(found[4], `'"`)
				return literal, "the zone is " + literal + ": " + key + " of " + file + ", unless " + variable +
					" is set there"
			}
		}
		if isThere {
			return "", "the zone is taken for UTC: " + key + " of " + file + " is not plain"
		}
	}
	if config == "" {
		return "", "the zone is taken for UTC: there is no " + file + " with app.timezone"
	}
	return "", "the zone is taken for UTC: " + file + " names none"
}

// variable returns a variable of .env.
func (app laravelApp) variable(name string) string {
	line := regexp.MustCompile(`(?m)^[ \t]*(?:export[ \t]+)?` + name + `[ \t]*=[ \t]*["']?([A-Za-z0-9_/+-]*)`)
	if found := line.FindStringSubmatch(app.text(".env")); found != nil && name != "" {
		return found[1]
	}
	return ""
}

var (
	phpClass   = humanize.Pattern(`^(?:new\s+)?\\?([A-Za-z_]\w*(?:\\\w+)*)(?:::class|\(\s*\))?$`)
	phpUse     = humanize.Pattern(`(?m)^\s*use\s+\\?([\w\\]+?)(?:\s+as\s+(\w+))?\s*;`)
	signatures = humanize.Pattern(`\$(?:signature|name)\s*=\s*['"]\s*([\w:.-]+)|` +
		`#\[\s*\\?(?:\w+\\)*(?:AsCommand|Signature)\s*\(\s*(?:name\s*:\s*|signature\s*:\s*)?['"]\s*([\w:.-]+)`)
)

// commandOf returns the name of the command that a class is, and the file that says it. text is the
// PHP that names the class.
func (app laravelApp) commandOf(text, class string) (name, file string) {
	if !strings.Contains(class, `\`) {
		for _, use := range phpUse().FindAllStringSubmatch(text, -1) {
			alias := use[2]
			if alias == "" {
				alias = use[1][strings.LastIndexByte(use[1], '\\')+1:]
			}
			if alias == class {
				class = use[1]
				break
			}
		}
	}
	below, isOurs := strings.CutPrefix(class, `App\`)
	if !isOurs {
		return "", ""
	}
	file = path.Join("app", strings.ReplaceAll(below, `\`, "/")) + ".php"
	found := signatures().FindStringSubmatch(withoutComments(app.text(file)))
	if found == nil {
		return "", file
	}
	return found[1] + found[2], file
}
