-- `wake()`: whoever changes tokens or tasks by hand has the control planes look, once the changes are committed.
create or replace function wake() returns void
language sql security definer set search_path = pg_catalog, :"schema", pg_temp as $$
    select pg_notify('stateous_' || left(encode(sha256(convert_to(n.nspname, 'UTF8')), 'hex'), 16), '')
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    where c.oid = 'control_plane'::regclass
$$;

comment on function wake() is 'Has the control planes look for ready tasks, due timers and the inbox.';
