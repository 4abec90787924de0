-- `fire(token, event, payload, key)`: asks for an event, in the transaction of the caller, and answers the row's number.
-- Text, json and jsonb are three functions: a literal is then text, and nothing is ambiguous.
create or replace function fire(token text, event text, payload text default null, key text default null) returns bigint
language sql security definer set search_path = pg_catalog, :"schema", pg_temp as $$
    select inbox_add('fire', token, event, payload, key)
$$;

create or replace function fire(token text, event text, payload json, key text default null) returns bigint
language sql security definer set search_path = pg_catalog, :"schema", pg_temp as $$
    select inbox_add('fire', token, event, payload::text, key)
$$;

create or replace function fire(token text, event text, payload jsonb, key text default null) returns bigint
language sql security definer set search_path = pg_catalog, :"schema", pg_temp as $$
    select inbox_add('fire', token, event, payload::text, key)
$$;

comment on function fire(text, text, text, text) is 'Asks for an event, in this transaction; answers its row in the inbox.';
comment on function fire(text, text, json, text) is 'Asks for an event, in this transaction; answers its row in the inbox.';
comment on function fire(text, text, jsonb, text) is 'Asks for an event, in this transaction; answers its row in the inbox.';
