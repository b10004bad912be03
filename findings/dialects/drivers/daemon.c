// Prints when a cron daemon would start each line of the file expressions, in the form of README.md.
// The daemon's own code reads the lines and runs its main loop, minute by minute, for each zone from
// a day before its first instant: so it knows what it has run already, as a daemon does.
// The linker puts the functions __wrap_NAME in the place of NAME: the clock is virtual, nothing is
// started, and this machine's files are left alone.
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef CRONIE
#include "config.h"
#include "globals.h"
#include "funcs.h"
#else
#include "cron.h"
#endif

enum { EXPRESSIONS = 2000, INSTANTS = 100, HORIZON = 1961798400 }; // 2032-03-02

static char *expressions[EXPRESSIONS], *refused[EXPRESSIONS], *left[EXPRESSIONS];
static user *users[EXPRESSIONS];
static int expression_count, instant_count, asked; // asked: instants of this zone without answer
static long instants[INSTANTS];
static char zones[INSTANTS][64];
static long (*answers)[INSTANTS]; // shared: 0 for unknown
static int open_answers[EXPRESSIONS];
static const char *zone;
static time_t now;
static char said[200]; // the first message since it was emptied

int daemon_main(int argc, char *argv[]);
int __real_job_runqueue(void);
int __real_setenv(const char *name, const char *value, int overwrite);
struct tm *__real_gmtime(const time_t *at);

time_t __wrap_time(time_t *at) {
  if (at) *at = now;
  return now;
}

unsigned __wrap_sleep(unsigned seconds) {
  now += seconds;
  if (now > HORIZON) _exit(0);
  return 0;
}

void __wrap_syslog(int priority, const char *format, ...) {
  if (*said) return;
  va_list values;
  va_start(values, format);
  vsnprintf(said, sizeof said, format, values);
  va_end(values);
}

// cronie sets TZ and asks for the time anew for each entry: what stays the same is not done twice.
int __wrap_setenv(const char *name, const char *value, int overwrite) {
  const char *before = getenv(name);
  return before && !strcmp(before, value) ? 0 : __real_setenv(name, value, overwrite);
}

struct tm *__wrap_gmtime(const time_t *at) {
  static time_t last = -1;
  static struct tm tm;
  if (*at != last) tm = *__real_gmtime(at);
  last = *at;
  return &tm;
}

// The machine has booted long ago: no @reboot.
int __wrap_access(const char *path, int mode) { return 0; }
int __wrap_unlink(const char *path) { return 0; }
void __wrap_acquire_daemonlock(int closing) {}
void __wrap_set_cron_uid(void) {}
void __wrap_set_cron_cwd(void) {}
void __wrap_check_spool_dir(void) {}

// __wrap_job_runqueue hides that jobs ran: the daemon would wait ten seconds for their sake, and one
// expression would move the others.
int __wrap_job_runqueue(void) {
  __real_job_runqueue();
  return 0;
}

void do_command(entry *e, user *u) {
  int i = atoi(u->name);
  time_t minute = now - now % 60;
  for (int k = 0; k < instant_count; k++)
    if (!answers[i][k] && minute > instants[k] && !strcmp(zones[k], zone)) {
      answers[i][k] = minute;
      open_answers[i]--;
    }
}

// load_database is called by the daemon each minute. It drops entries that have no open question.
#ifdef CRONIE
int
#else
void
#endif
load_database(cron_db *db) {
  static int last = -1;
  int day = now / 86400;
  if (day != last) {
    last = day;
    db->head = NULL;
    for (int i = expression_count - 1; i >= 0; i--)
      if (users[i] && open_answers[i]) {
        users[i]->next = db->head;
        db->head = users[i];
      }
    if (!db->head) _exit(0);
  }
#ifdef CRONIE
  return 0;
#endif
}

void check_orphans(cron_db *db) {}

// never reports whether line i ran at no time after the last instant of the first zone: the years
// up to HORIZON have a leap day, so it runs in no zone.
static int never(int i) {
  int last = 0;
  while (last + 1 < instant_count && !strcmp(zones[last + 1], zones[0])) last++;
  return zone != zones[0] && !answers[i][last];
}

static void simulate(char *program) {
  if (fork()) {
    wait(NULL);
    return;
  }
  setenv("TZ", zone, 1);
  tzset();
  now = 0;
  for (int k = 0; k < instant_count; k++)
    if (!strcmp(zones[k], zone)) {
      asked++;
      if (!now || instants[k] < now) now = instants[k];
    }
  now -= 86400 + now % 60;
  for (int i = 0; i < expression_count; i++) open_answers[i] = never(i) ? 0 : asked;
  char *args[] = {program, FOREGROUND, NULL};
  daemon_main(2, args);
  _exit(1);
}

static void parse(int i) {
  char name[20];
  FILE *file = tmpfile();
  fprintf(file, "%s true\n", expressions[i]);
  rewind(file);
  snprintf(name, sizeof name, "%d", i);
  *said = 0;
  users[i] = load_user(dup(fileno(file)), getpwuid(0), name, name, name);
  fclose(file);
  if (!users[i] || !users[i]->crontab) {
    users[i] = NULL;
    char *end = strstr(said, "; while"); // in crontab for user NUMBER
    if (end) *end = 0;
    refused[i] = strdup(*said ? said : "no job: the line is a setting");
    return;
  }
  left[i] = strdup(users[i]->crontab->cmd);
  left[i][strlen(left[i]) - strlen("true")] = 0;
  if (*left[i]) left[i][strlen(left[i]) - 1] = 0;
}

int main(int argc, char *argv[]) {
  char path[4096], line[1000];
  snprintf(path, sizeof path, "%s/instants", argv[1]);
  FILE *file = fopen(path, "r");
  while (fscanf(file, "%ld %63s", &instants[instant_count], zones[instant_count]) == 2) instant_count++;
  snprintf(path, sizeof path, "%s/expressions", argv[1]);
  file = fopen(path, "r");
  while (fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = 0;
    expressions[expression_count++] = strdup(line);
  }
  answers = mmap(NULL, sizeof(long) * EXPRESSIONS * INSTANTS, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < expression_count; i++) parse(i);
  for (int k = 0; k < instant_count; k++)
    if (k == 0 || strcmp(zones[k], zones[k - 1])) {
      zone = zones[k];
      simulate(argv[0]);
    }
  for (int i = 0; i < expression_count; i++) {
    if (refused[i]) {
      printf("%s\trefused\t%s\n", expressions[i], refused[i]);
      continue;
    }
    printf("%s\tnext\t", expressions[i]);
    for (int k = 0; k < instant_count; k++) printf("%ld ", answers[i][k] ? answers[i][k] - instants[k] : -1);
    printf("\t%s\n", left[i]);
  }
}
