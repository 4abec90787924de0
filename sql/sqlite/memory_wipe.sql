-- Removes all that these tokens (a JSON list) remember, because they ended. It answers no rows.
delete from memory where token in (select value from json_each(:tokens))
