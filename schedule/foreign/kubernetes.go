package foreign

import (
	"cmp"
	"fmt"
	"strings"

	"sched/schedule/humanize"
)

// readManifests reads CronJobs. Other objects are named.
func readManifests(text string) (jobs []*Job, err error) {
	all, err := documents(text)
	if err != nil {
		return nil, err
	}
	isAny := false
	for i := 0; i < len(all); i++ {
		object := all[i]
		if object.text("kind") == "List" {
			all = append(all, object.at("items").items()...)
			continue
		}
		j := &Job{Line: object.Line, Name: object.at("metadata").text("name")}
		switch kind := object.text("kind"); kind {
		case "":
			continue
		case "CronJob":
			isAny = true
			readCronJob(j, object)
		default:
			j.refuse("it is a %s, which has no times", kind)
		}
		jobs = append(jobs, j)
	}
	if !isAny {
		return nil, ErrOther
	}
	return jobs, nil
}

func readCronJob(j *Job, object node) {
	spec := object.at("spec")
	j.Expressions = []string{spec.text("schedule")}
	if j.Zone = spec.text("timeZone"); j.Zone == "" {
		j.note("without timeZone it has the zone of the controller, taken for UTC")
	}
	switch policy := spec.text("concurrencyPolicy"); policy {
	case "Forbid":
		j.setPlain("without_overlapping", "true")
	case "Replace":
		j.setPlain("without_overlapping", "replace")
	}
	const deadline = "startingDeadlineSeconds"
	switch seconds, ok := j.number(deadline, spec.text(deadline), 1, maxSeconds); {
	case ok && seconds < 60:
		j.setPlain("start_deadline", fmt.Sprintf("%ds", seconds))
	case ok:
		j.setPlain("missed", "once")
		j.setPlain("missed_within", fmt.Sprintf("%ds", seconds))
	}
	template := spec.at("jobTemplate")
	job := template.at("spec")
	setAttempts(j, job)
	j.Command = podCommand(j, object.at("metadata"), template, job.at("template"))
	if spec.text("suspend") == "true" {
		j.setPlain("enabled", "false")
	}
	j.noteRest("spec.", spec, "successfulJobsHistoryLimit", "failedJobsHistoryLimit")
	j.noteRest("spec.jobTemplate.spec.", job, "ttlSecondsAfterFinished")
}

// setAttempts sets what a Job does after a failure, and how long it may take.
func setAttempts(j *Job, job node) {
	retries, ok := j.number("backoffLimit", cmp.Or(job.text("backoffLimit"), "6"), 0, maxAttempts-1)
	if ok && retries > 0 {
		j.setPlain("retry", fmt.Sprintf("{attempts: %d, delay: 10s, backoff: 2, max_delay: 6m}", retries+1))
	}
	const deadline = "activeDeadlineSeconds"
	if seconds, ok := j.number(deadline, job.text(deadline), 1, maxSeconds); ok {
		j.setPlain("timeout", fmt.Sprintf("%ds", seconds))
		j.note("activeDeadlineSeconds bounds all attempts, and timeout each")
	}
}

// podCommand returns a command that starts the container of a pod: docker run if that can be said,
// else a Job that kubectl makes of the CronJob.
func podCommand(j *Job, metadata, jobTemplate, template node) string {
	pod := template.at("spec")
	containers := pod.at("containers").items()
	other := pod.rest("restartPolicy", "terminationGracePeriodSeconds", "imagePullSecrets", "serviceAccountName",
		"serviceAccount", "automountServiceAccountToken", "dnsPolicy", "schedulerName", "securityContext",
		"nodeSelector")
	if len(containers) == 1 && len(other) == 0 {
		if command, ok := dockerRun(containers[0]); ok {
			j.note("its image is started by docker run on this machine")
			j.noteRest("its container has ", containers[0], unimportant...)
			j.noteRest("its pod has ", pod, "restartPolicy", "dnsPolicy", "schedulerName")
			for _, n := range []node{jobTemplate, template} {
				j.noteRest("its pod or Job has metadata: ", n.at("metadata"), "creationTimestamp")
			}
			return command
		}
	}
	j.Keys = nil // a Job that kubectl makes has the rest of the settings itself
	j.note("kubectl makes a Job of the CronJob, which must stay there with suspend: true; " +
		"how the Job ends is seen there, and with it go retries, deadlines and overlaps")
	if name := metadata.text("name"); len(name) > maxCronJob || !objectName().MatchString(name) {
		j.refuse("Kubernetes takes no CronJob of the name %q", name)
	}
	where := ""
	if namespace := metadata.text("namespace"); namespace != "" {
		where = " -n " + quoteWords(namespace)
	}
	name := metadata.text("name")
	return fmt.Sprintf(`kubectl%s create job --from=cronjob/%s "%s-$SCHED_RUN"`, where, name,
		strings.TrimRight(name[:min(len(name), maxJob-1-runLength)], "-."))
}

// objectName matches names of objects. A name of a Job or a CronJob has a limit, too.
var objectName = humanize.Pattern(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

const (
	maxCronJob = 52
	maxJob     = 63
	runLength  = 36 // of SCHED_RUN
)

// unimportant are keys of a container that say nothing of a run.
var unimportant = []string{"name", "imagePullPolicy", "terminationMessagePath", "terminationMessagePolicy"}

// dockerRun returns the command for a container with nothing but an image, words and variables.
func dockerRun(container node) (command string, ok bool) {
	words := []string{"docker", "run", "--rm"}
	for _, variable := range container.at("env").items() {
		name, value := variable.text("name"), variable.text("value")
		if len(variable.rest()) > 0 || strings.Contains(value, "$(") {
			return "", false
		}
		words = append(words, "-e", name+"="+value)
	}
	if dir := container.text("workingDir"); dir != "" {
		words = append(words, "-w", dir)
	}
	program, arguments := container.at("command").texts(), container.at("args").texts()
	if strings.Contains(strings.Join(append(program, arguments...), " "), "$(") {
		return "", false // Kubernetes expands it
	}
	image := container.text("image")
	if len(program) > 0 {
		words = append(words, "--entrypoint", program[0])
		arguments = append(program[1:], arguments...)
	}
	words = append(append(words, image), arguments...)
	other := container.rest(append(unimportant, "resources", "securityContext")...)
	return quoteWords(words...), image != "" && len(other) == 0
}
