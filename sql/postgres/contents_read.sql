-- What is in the schema of the tables and in that of its views, each thing as a line. Zero rows: neither has anything.
-- A trigger that is switched off and an index that is not valid do nothing, and so they are not there.
select case c.relkind when 'S' then 'sequence ' when 'r' then 'table ' when 'p' then 'table ' else 'relation ' end
    || c.relname as line
from pg_class c
where c.relnamespace = (select n.oid from pg_namespace n where n.nspname = current_schema())
    and c.relkind not in ('i', 'I', 't', 'c')
union all
select 'column ' || c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
from pg_class c
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where c.relnamespace = (select n.oid from pg_namespace n where n.nspname = current_schema())
    and c.relkind in ('r', 'p')
union all
select case when i.indisunique then 'unique index ' else 'index ' end || t.relname || '.' || c.relname
from pg_index i
join pg_class c on c.oid = i.indexrelid
join pg_class t on t.oid = i.indrelid
where t.relnamespace = (select n.oid from pg_namespace n where n.nspname = current_schema())
    and i.indisvalid and t.relkind in ('r', 'p')
union all
select 'trigger ' || c.relname || '.' || t.tgname
from pg_trigger t
join pg_class c on c.oid = t.tgrelid
where c.relnamespace = (select n.oid from pg_namespace n where n.nspname = current_schema())
    and not t.tgisinternal and t.tgenabled <> 'D'
union all
select 'function ' || p.proname || '(' || oidvectortypes(p.proargtypes) || ')'
from pg_proc p
where p.pronamespace = (select n.oid from pg_namespace n where n.nspname = current_schema())
union all
select 'view ' || c.relname
from pg_class c
where c.relnamespace = (select n.oid from pg_namespace n where n.nspname = current_schema() || '_views')
    and c.relkind = 'v'
