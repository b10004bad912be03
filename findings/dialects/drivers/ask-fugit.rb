# Prints when fugit would run each line of the file expressions, in the form of README.md.
require 'fugit'

instants = File.readlines("#{ARGV[0]}/instants").map(&:split)
File.readlines("#{ARGV[0]}/expressions", chomp: true).each do |expression|
  begin
    cron = Fugit::Cron.parse(expression)
    unless cron
      puts "#{expression}\trefused\tFugit::Cron.parse gives nil"
      next
    end
    answers = instants.map do |seconds, zone|
      following = cron.next_time(EtOrbi::EoTime.new(seconds.to_i, zone))
      following ? following.to_i - seconds.to_i : -1
    rescue StandardError
      -2
    end
    puts "#{expression}\tnext\t#{answers.join(' ')}"
  rescue StandardError => e
    puts "#{expression}\trefused\t#{e.message.split.join(' ')}"
  end
end
