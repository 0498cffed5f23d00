"""The super conductor: owner of the API database and cell0; accepts requests and finds cells."""
