-- Lets all that this connection holds go, at once: one that is only closed has it until the server notices.
select pg_advisory_unlock_all() as released
