-- Lets the hold go, at once: a connection that is only closed has it until the server notices.
select pg_advisory_unlock(:hold) as released
