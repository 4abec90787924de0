-- The time that a manual clock was moved to last, and when a token was last changed; each may be null. Always one row.
select c.clock, (select max(t.changed_at) from tokens t) as changed_at from control_plane c
