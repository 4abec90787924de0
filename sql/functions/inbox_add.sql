-- Writes what `start` and `fire` ask for into the inbox; answers the row's number. Only they call it.
-- What breaks the rules is refused later, in the row: whether a token exists is not known before it is its turn.
create or replace function inbox_add(kind text, token text, event text, document text, key text) returns bigint
language plpgsql set search_path = pg_catalog, :"schema", pg_temp as $$
#variable_conflict use_variable
declare
    added bigint;
begin
    if token is null then
        raise exception '%() needs the id of a token, not null', kind using errcode = 'null_value_not_allowed';
    end if;
    if kind = 'fire' and event is null then
        raise exception 'fire() needs the name of an event, not null' using errcode = 'null_value_not_allowed';
    end if;
    insert into inbox (kind, token, event, document, key)
    values (kind, token, event, document::json, key)
    returning inbox.id into added;
    return added;
end
$$;

comment on function inbox_add(text, text, text, text, text) is 'Adds a row to the inbox: start() and fire() call it.';
