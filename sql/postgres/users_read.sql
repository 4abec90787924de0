-- The sessions that have a lock on something in the schema, other than this one. Zero rows: nobody uses it now.
select a.pid, a.application_name
from pg_stat_activity a
where a.pid <> pg_backend_pid()
    and exists (
        select 1
        from pg_locks l
        join pg_class c on c.oid = l.relation
        join pg_namespace n on n.oid = c.relnamespace
        where l.pid = a.pid
            and l.granted
            and l.database = (select d.oid from pg_database d where d.datname = current_database())
            and n.nspname in (current_schema(), current_schema() || '_views')
    )
order by a.pid
