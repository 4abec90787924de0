-- What is in the file, each thing as a line. Zero rows: the file has nothing.
select 'table ' || s.name as line
from sqlite_schema s
where s.type = 'table' and substr(s.name, 1, 7) <> 'sqlite_'
union all
select 'column ' || s.name || '.' || c.name || ' ' || lower(c.type)
from sqlite_schema s, pragma_table_info(s.name) c
where s.type = 'table' and substr(s.name, 1, 7) <> 'sqlite_'
union all
select case when i."unique" then 'unique index ' else 'index ' end || s.name || '.' || i.name
from sqlite_schema s, pragma_index_list(s.name) i
where s.type = 'table' and substr(s.name, 1, 7) <> 'sqlite_'
union all
select 'trigger ' || s.tbl_name || '.' || s.name
from sqlite_schema s
where s.type = 'trigger'
union all
select 'relation ' || s.name
from sqlite_schema s
where s.type = 'view'
