-- Forgets the supervisors that nobody has heard of for so many seconds, by SQLite's own time. It answers no rows.
delete from supervisors where last_seen_at < strftime('%Y-%m-%dT%H:%M:%f000Z', 'now', format('-%d seconds', :seconds))
