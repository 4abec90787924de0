-- `start(token, context)`: asks for a token's start, in the transaction of the caller, and answers the row's number.
-- Text, json and jsonb are three functions: a literal is then text, and nothing is ambiguous.
create or replace function start(token text, context text default null) returns bigint
language sql security definer set search_path = pg_catalog, :"schema", pg_temp as $$
    select inbox_add('start', token, null, context, null)
$$;

create or replace function start(token text, context json) returns bigint
language sql security definer set search_path = pg_catalog, :"schema", pg_temp as $$
    select inbox_add('start', token, null, context::text, null)
$$;

create or replace function start(token text, context jsonb) returns bigint
language sql security definer set search_path = pg_catalog, :"schema", pg_temp as $$
    select inbox_add('start', token, null, context::text, null)
$$;

comment on function start(text, text) is 'Asks for a token''s start, in this transaction; answers its row in the inbox.';
comment on function start(text, json) is 'Asks for a token''s start, in this transaction; answers its row in the inbox.';
comment on function start(text, jsonb) is 'Asks for a token''s start, in this transaction; answers its row in the inbox.';
