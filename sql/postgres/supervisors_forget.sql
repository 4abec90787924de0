-- Forgets the supervisors that nobody has heard of for so many seconds. It answers no rows.
delete from supervisors s where s.last_seen_at < now() - make_interval(secs => :seconds)
