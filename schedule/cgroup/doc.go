// Package cgroup keeps the limits of commands with cgroups of version 2 (cgroups(7)). Each attempt
// of a run has a cgroup of its own, in which its command starts. All of them stand in one folder:
//
//   - for root: the top of the hierarchy;
//   - in a unit of systemd with Delegate=yes, and for a user who owns the cgroup of this process:
//     that cgroup. The kernel gives no limits to the children of a cgroup that has processes
//     itself, so all of its processes move to a child first, mainCgroup.
//
// The process that watches a command has the lock (flock) of the command's cgroup. So a cgroup that
// is empty and not locked is left from a dead process, and Sweep removes it.
package cgroup
