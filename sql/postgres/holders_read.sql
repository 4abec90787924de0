-- The names of the sessions that have the hold, and whether they share it. Zero rows: nobody has it.
-- pg_locks shows the two halves of a key as columns of their own.
select a.application_name, l.mode = 'ShareLock' as shares
from pg_locks l
join pg_stat_activity a on a.pid = l.pid
where l.locktype = 'advisory'
    and l.granted
    and l.database = (select d.oid from pg_database d where d.datname = current_database())
    and l.classid = ((:hold >> 32) & 4294967295)::oid
    and l.objid = (:hold & 4294967295)::oid
    and l.objsubid = 1
