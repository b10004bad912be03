package foreign

import (
	"fmt"
	"strconv"
	"strings"
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
	if seconds, err := strconv.Atoi(spec.text("startingDeadlineSeconds")); err == nil && seconds > 0 && seconds < 60 {
		j.setPlain("start_deadline", fmt.Sprintf("%ds", seconds))
	} else if seconds >= 60 {
		j.setPlain("missed", "once")
		j.setPlain("missed_within", fmt.Sprintf("%ds", seconds))
	}
	template := spec.at("jobTemplate")
	job := template.at("spec")
	setAttempts(j, job)
	pod := job.at("template", "spec")
	j.Command = podCommand(j, object.at("metadata"), pod)
	if spec.text("suspend") == "true" {
		j.setPlain("enabled", "false")
	}
	j.noteRest("spec.", spec, "successfulJobsHistoryLimit", "failedJobsHistoryLimit")
	j.noteRest("spec.jobTemplate.spec.", job, "ttlSecondsAfterFinished")
}

// setAttempts sets what a Job does after a failure, and how long it may take.
func setAttempts(j *Job, job node) {
	retries := 6
	if value, err := strconv.Atoi(job.text("backoffLimit")); err == nil {
		retries = value
	}
	if retries > 0 {
		j.setPlain("retry", fmt.Sprintf("{attempts: %d, delay: 10s, backoff: 2, max_delay: 6m}", retries+1))
	}
	if seconds := job.text("activeDeadlineSeconds"); seconds != "" {
		j.setPlain("timeout", seconds+"s")
		j.note("activeDeadlineSeconds bounds all attempts, and timeout each")
	}
}

// podCommand returns a command that starts the container of a pod: docker run if that can be said,
// else a Job that kubectl makes of the CronJob.
func podCommand(j *Job, metadata, pod node) string {
	containers := pod.at("containers").items()
	other := pod.rest("restartPolicy", "terminationGracePeriodSeconds", "imagePullSecrets", "serviceAccountName",
		"serviceAccount", "automountServiceAccountToken", "dnsPolicy", "schedulerName", "securityContext",
		"nodeSelector")
	if len(containers) == 1 && len(other) == 0 {
		if command, ok := dockerRun(containers[0]); ok {
			j.note("its image is started by docker run on this machine")
			j.noteRest("its pod has ", pod, "restartPolicy", "dnsPolicy", "schedulerName")
			return command
		}
	}
	j.Keys = nil // a Job that kubectl makes has the rest of the settings itself
	j.note("kubectl makes a Job of the CronJob, which must stay there with suspend: true; " +
		"how the Job ends is seen there, and with it go retries, deadlines and overlaps")
	where := ""
	if namespace := metadata.text("namespace"); namespace != "" {
		where = " -n " + quoteWords(namespace)
	}
	name := quoteWords(metadata.text("name"))
	return fmt.Sprintf(`kubectl%s create job --from=cronjob/%s "%s-$SCHED_RUN"`, where, name, name)
}

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
	image := container.text("image")
	if len(program) > 0 {
		words = append(words, "--entrypoint", program[0])
		arguments = append(program[1:], arguments...)
	}
	words = append(append(words, image), arguments...)
	other := container.rest("name", "imagePullPolicy", "resources", "terminationMessagePath",
		"terminationMessagePolicy", "securityContext")
	return quoteWords(words...), image != "" && len(other) == 0
}
