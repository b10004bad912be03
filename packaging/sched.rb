# A formula for Homebrew, to be put into a tap: packaging/release --url fills in what stands in @…@.
class Sched < Formula
  desc "Scheduler of tasks in any language: one binary, one crontab line, one file"
  homepage "@URL@"
  version "@VERSION@"
  license "MIT"

  on_macos do
    on_arm do
      url "@URL@/sched-@VERSION@-darwin-arm64.tar.gz"
      sha256 "@darwin-arm64@"
    end
    on_intel do
      url "@URL@/sched-@VERSION@-darwin-amd64.tar.gz"
      sha256 "@darwin-amd64@"
    end
  end
  on_linux do
    on_arm do
      url "@URL@/sched-@VERSION@-linux-arm64.tar.gz"
      sha256 "@linux-arm64@"
    end
    on_intel do
      url "@URL@/sched-@VERSION@-linux-amd64.tar.gz"
      sha256 "@linux-amd64@"
    end
  end

  def install
    bin.install "sched"
    man1.install Dir["man/*.1"]
    man5.install Dir["man/*.5"]
    bash_completion.install "completions/sched.bash" => "sched"
    zsh_completion.install "completions/_sched"
    fish_completion.install "completions/sched.fish"
    pkgshare.install "schedule.schema.json"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/sched version")
    system bin/"sched", "init"
    system bin/"sched", "check"
  end
end
