-- Removes single memory keys. It answers no rows; a key that is not there is passed over.
delete from memory
where (token, state, key) in (
    select value ->> 'token', value ->> 'state', value ->> 'key' from json_each(:rows)
)
