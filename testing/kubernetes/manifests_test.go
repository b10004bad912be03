// Package kubernetes reads what `sched export --to kubernetes` writes with the types of Kubernetes.
package kubernetes

import (
	"os"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func TestManifestsHaveOnlyFieldsThatKubernetesKnows(t *testing.T) {
	text, err := os.ReadFile("../../schedule/kubernetes/testdata/shop.want.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var files corev1.ConfigMap
	jobs := map[string]batchv1.CronJob{}
	for i, document := range strings.Split(string(text), "\n---\n") {
		if i == 0 {
			if err := yaml.UnmarshalStrict([]byte(document), &files); err != nil {
				t.Fatal(err)
			}
			continue
		}
		var job batchv1.CronJob
		if err := yaml.UnmarshalStrict([]byte(document), &job); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		jobs[job.Name] = job
	}
	source, err := os.ReadFile("../../schedule/kubernetes/testdata/shop.yaml")
	if err != nil || files.Data["file-0-schedule.yaml"] != "" || files.Data["file-0-shop.yaml"] != string(source) {
		t.Errorf("the ConfigMap has not the file as it is: %v %q", err, files.Data)
	}
	backup := jobs["backup"]
	if len(jobs) != 6 || backup.Spec.ConcurrencyPolicy != batchv1.ForbidConcurrent || *backup.Spec.TimeZone != "Europe/Berlin" ||
		*backup.Spec.StartingDeadlineSeconds != 12*3600 || !*jobs["last"].Spec.Suspend {
		t.Errorf("%d CronJobs, of which backup is %+v", len(jobs), backup.Spec)
	}
	container := backup.Spec.JobTemplate.Spec.Template.Spec.Containers[0]
	var fromSecret []string
	for _, variable := range container.Env {
		if from := variable.ValueFrom; from != nil && from.SecretKeyRef != nil {
			fromSecret = append(fromSecret, variable.Name)
		}
	}
	if strings.Join(fromSecret, " ") != "STORE_URL TOKEN" || len(container.VolumeMounts) != 2 {
		t.Errorf("the container has %v of the Secret, and the files %v", fromSecret, container.VolumeMounts)
	}
}
